/** A pool while its branch is on its way: what every process sees, and what a stop costs. And the document's own example. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createCaisson, grantTrust, PushFailedError, WorkerPool, type Task } from 'caisson';
import { startModelServer } from '@caisson/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { serveGit } from './git-server.ts';
import { createProject, finish, ROOT, until } from './project.ts';

const TIMEOUT = { timeout: 120_000 };

/** Another process with a pool of the same name: what it says of its workers, whenever that changes. */
function watchPool(cwd: string): () => unknown {
  const source = `
    import { WorkerPool } from 'caisson';
    const pool = new WorkerPool({ cwd: ${JSON.stringify(cwd)} });
    await pool.start();
    let before = '';
    setInterval(() => {
      const now = JSON.stringify(pool.getAllWorkers());
      if (now !== before) console.log(now);
      before = now;
    }, 20);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    ...{ cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  return () => {
    const last = said.trimEnd().split('\n').at(-1);
    return last === undefined || last === '' ? null : (JSON.parse(last) as unknown);
  };
}

const isPush = ({ method, url }: IncomingMessage): boolean =>
  method === 'POST' && url?.endsWith('/git-receive-pack') === true;

it(
  'a worker that pushes is one in every process; stop ends the push, and it works later',
  TIMEOUT,
  async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path);
    const pushing = Promise.withResolvers<null>();
    server.misbehave((request, response) => {
      if (!isPush(request)) return server.serve(request, response);
      request.resume(); // and never a word
      return pushing.resolve(null);
    });
    const project = createProject({ git: false });
    const seen = watchPool(project.root);
    const lines: string[] = [];
    const argv = ['sh', '-c', 'echo x > work.txt'];
    const pool = new WorkerPool(
      {
        cwd: project.root,
        git: { url: server.url, branch: 'main' },
        request: { runtime: 'command', argv },
      },
      '',
      { log: (line) => lines.push(line) },
    );
    onTestFinished(() => pool.stop());
    const task: Task = { id: 't1', description: 'Write', branch: 'work', status: 'pending', priority: 5 };
    const assigned = pool.assignTask(task).catch((thrown: unknown) => thrown);
    await pushing.promise;
    const mine = pool.getAllWorkers();
    expect(mine).toMatchObject([{ id: 'ephemeral-t1', currentTask: { id: 't1', branch: 'work' } }]);
    await until('the other process sees it, too', () => JSON.stringify(seen()) === JSON.stringify(mine));
    const startedMs = performance.now();
    await pool.stop();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    const error = await assigned;
    expect(error).toBeInstanceOf(PushFailedError);
    expect(error).toMatchObject({
      message: expect.stringContaining('its push was stopped') as string,
      remedy: expect.stringContaining('--push') as string,
    });
    expect([
      pool.getAllWorkers(),
      await until('the other one, too', () => JSON.stringify(seen()) === '[]'),
    ]).toEqual([[], true]);
    const phases = lines.filter((line) => line.startsWith('[worker:t1] ')).map((line) => line.slice(12));
    const commit = /^work saved: [0-9a-f]{12}$/;
    expect(phases).toEqual([
      expect.stringMatching(/^accepted as run_/),
      expect.stringMatching(/^fetched: refs\/heads\/main at /),
      ...['sandbox created', 'worker started', 'agent ended', 'nothing of it runs any more'],
      ...[expect.stringMatching(commit), 'hand-off: partial, said by the host', 'ended: finished'],
      'not pushed: work (stopped)',
      'workspace removed',
    ]);
    server.misbehave(null);
    const caisson = await createCaisson({ cwd: project.root });
    onTestFinished(() => caisson.close());
    const [waiting] = await caisson.branches();
    expect(waiting).toMatchObject({ branch: 'work', push: { status: 'failed', reason: 'stopped' } });
    expect(await caisson.pushBranch(waiting?.runId ?? '')).toMatchObject({ status: 'pushed' });
    expect(remote.git('show', 'work:work.txt')).toBe('x');
  },
);

/** As in the document, but for the name of the package. */
const EXAMPLE = `
const workerPool = new WorkerPool(
  {
    maxWorkers: 50,
    workerTimeout: 1800,
    llm: config.llm,
    git: config.git,
    pythonPath: 'python3',
    gitToken: process.env.GIT_TOKEN
  },
  workerPrompt
)

await workerPool.start()  // No-op, but maintains interface

// Assign task to ephemeral sandbox
const handoff = await workerPool.assignTask({
  id: 'task-001',
  description: 'Implement user authentication',
  scope: ['src/auth/login.ts', 'src/auth/session.ts'],
  acceptance: 'Users can log in and receive JWT tokens',
  branch: 'worker/task-001-auth',
  status: 'pending',
  createdAt: Date.now(),
  priority: 5
})

console.log(\`Task \${handoff.taskId} \${handoff.status}\`)
console.log(\`Files changed: \${handoff.filesChanged.join(', ')}\`)
console.log(\`Tokens used: \${handoff.metrics.tokensUsed}\`)

await workerPool.stop()  // No-op
`;

it(
  'the usage example of the document runs as it is written, with a reference for its token',
  TIMEOUT,
  async () => {
    const file = { intent: 'write-file' as const, path: 'src/auth/login.ts', content: 'export {};\n' };
    const arguments_ = { status: 'complete', summary: 'Users can log in.' };
    const call = { intent: 'mcp' as const, tool: 'hand_off', arguments: arguments_ };
    const model = await startModelServer({ script: [{ tool: file }, { tool: call }, { say: 'Done.' }] });
    onTestFinished(() => model.stop());
    const remote = createBareRemote();
    const server = await serveGit(remote.path, { token: 'plain' });
    const project = createProject({ git: false, config: 'runtime: native\n' });
    await grantTrust({ cwd: project.root });
    const llm = { endpoint: model.url, model: 'scripted-model', maxTokens: 4096, temperature: 0 };
    const config = { llm, git: { url: server.url, branch: 'main' } };
    const run = async (token: string) => {
      const source = `
      import { WorkerPool } from 'caisson';
      process.chdir(${JSON.stringify(project.root)});
      const config = ${JSON.stringify(config)};
      const workerPrompt = 'You are a worker.';
      ${EXAMPLE}`;
      const env = { ...project.env, GIT_TOKEN: token, SECRET_TOKEN: 'plain' };
      const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
        ...{ cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] },
      });
      const [result] = await Promise.all([finish(child), once(child, 'close')]);
      return result;
    };
    const refused = await run('ghp_literal');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('gitToken must say where the secret is, not the secret itself'),
    ]);
    const done = await run('env:SECRET_TOKEN');
    expect([done.code, done.stderr, done.stdout]).toEqual([
      ...[0, ''],
      expect.stringMatching(
        /^Task task-001 complete\nFiles changed: src\/auth\/login\.ts\nTokens used: [1-9]\d*\n$/,
      ),
    ]);
    expect(remote.git('show', 'worker/task-001-auth:src/auth/login.ts')).toBe('export {};');
  },
);
