/** A pool of workers on the project's own repository: hand-offs, typed errors, and state that is the ledger's. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createCaisson,
  grantTrust,
  HandoffShapeError,
  HandoffUnparseableError,
  isHandoff,
  PoolConfigError,
  PoolStoppedError,
  WorkerFailedError,
  WorkerPool,
  WorkerTimeoutError,
  type Handoff,
  type PoolTask,
  type WorkerPoolConfig,
} from 'caisson';
import { startModelServer } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findAgentBin, installAgent, PINNED_AGENTS } from '../agents/install-agents.mjs';
import { createProject, finish, ROOT, until, type Project } from './project.ts';

const TIMEOUT = { timeout: 120_000 };

/** A pool whose tasks are shell commands. */
function createPool(project: Project, script: string, config: Partial<WorkerPoolConfig> = {}): WorkerPool {
  const argv = ['sh', '-c', script];
  const pool = new WorkerPool({ cwd: project.root, request: { runtime: 'command', argv }, ...config });
  onTestFinished(() => pool.stop());
  return pool;
}

const task = (id: string, more: Partial<PoolTask> = {}): PoolTask => ({
  ...{ id, description: 'Write the Greeting!', scope: ['*.txt'], status: 'pending', createdAt: Date.now() },
  ...more,
});

const WRITE = `echo hello > "$CAISSON_RUN_ID.txt"; echo '{"status":"complete","summary":"written"}' > .caisson/handoff.json`;

describe('a pool', TIMEOUT, () => {
  it('gives each task its own branch and resolves with its checked hand-off', async () => {
    const project = createProject();
    const pool = createPool(project, WRITE);
    const completed: Handoff[] = [];
    pool.onTaskComplete(() => {
      throw new Error('a listener of no use');
    });
    pool.onTaskComplete((handoff) => completed.push(handoff));
    const [first, second] = await Promise.all([
      pool.assignTask(task('task-001')),
      pool.assignTask(task('task-002', { branch: 'worker/own-name' })),
    ]);
    expect(first).toMatchObject({
      ...{ taskId: 'task-001', status: 'complete', by: 'agent', summary: 'written' },
      branch: 'worker/task-001-write-the-greeting',
      metrics: { linesAdded: 1, filesCreated: 1 },
      verdict: { branchExists: true, scopeRespected: true, pushed: false },
    });
    expect([isHandoff(first), isHandoff({ taskId: 'x' })]).toEqual([true, false]);
    expect(project.git('rev-parse', 'worker/own-name').trim()).toBe(second.headCommit);
    expect(completed).toHaveLength(2);
    await until('the ledger says that nobody works', () => pool.getWorkerCount() === 0);
    expect([pool.getAllWorkers(), pool.getActiveTaskCount(), pool.getTotalActiveToolCalls()]).toEqual([
      [],
      0,
      0,
    ]);
  });

  it('rejects with typed errors that name run and branch, and calls onWorkerFailed', async () => {
    const project = createProject();
    project.git('branch', 'taken');
    const failed: [string, Error][] = [];
    const reject = async (script: string, branch: string, config: Partial<WorkerPoolConfig> = {}) => {
      const pool = createPool(project, script, config);
      pool.onWorkerFailed((taskId, error) => failed.push([taskId, error]));
      const error = await pool.assignTask(task(branch, { branch })).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      return error as WorkerFailedError | null;
    };
    const exits = await reject('exit 3', 'exits');
    expect(exits).toBeInstanceOf(WorkerFailedError);
    expect(exits).toMatchObject({
      taskId: 'exits',
      branch: 'exits',
      runId: expect.stringMatching(/^run_/) as string,
    });
    const refused = await reject(WRITE, 'taken');
    expect(refused).toBeInstanceOf(WorkerFailedError);
    expect([refused?.runId, refused?.branch]).toEqual([undefined, 'taken']);
    const broken = await reject('echo a > a.txt; echo "{" > .caisson/handoff.json', 'broken');
    expect(broken).toBeInstanceOf(HandoffUnparseableError);
    expect(broken?.handoff).toMatchObject({ by: 'host', filesChanged: ['a.txt'] });
    const shape = await reject('echo "{}" > .caisson/handoff.json', 'shape');
    expect(shape).toBeInstanceOf(HandoffShapeError);
    expect(failed.map(([id, error]) => [id, error])).toEqual(
      [exits, refused, broken, shape].map((error) => [error?.taskId, error]),
    );
  });

  it('lists a branch that timed out in every process, also after a crash, until it is drained', async () => {
    const project = createProject();
    const pool = createPool(project, 'echo part > part.txt; sleep 1000', { workerTimeout: 1.5 });
    const other = createPool(project, WRITE);
    await other.start();
    const error = await pool.assignTask(task('slow', { branch: 'slow' })).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WorkerTimeoutError);
    expect(error).toMatchObject({
      ...{ branch: 'slow', runId: expect.stringMatching(/^run_/) as string },
      handoff: { status: 'partial', by: 'host', filesChanged: ['part.txt'], verdict: { branchExists: true } },
    });
    expect(project.git('show', 'slow:part.txt')).toBe('part\n');
    for (const each of [pool, other])
      await until('it is listed', () => each.getTimedOutBranches().includes('slow'));
    await pool.stop();
    const later = createPool(project, WRITE);
    await later.start();
    expect(later.drainTimedOutBranches()).toEqual(['slow']);
    expect(later.getTimedOutBranches()).toEqual([]);
    await until('the other sees it', () => other.getTimedOutBranches().length === 0);
    await later.stop();
    const last = createPool(project, WRITE);
    await last.start();
    expect(last.getTimedOutBranches()).toEqual([]);
  });

  it('has the workers of a process that died until they are settled, and stops what it started', async () => {
    const project = createProject();
    const source = `
      import { WorkerPool } from 'caisson';
      const request = { runtime: 'command', argv: ['sh', '-c', 'echo x > x.txt; sleep 1000'] };
      const pool = new WorkerPool({ cwd: ${JSON.stringify(project.root)}, request });
      pool.assignTask({ id: 'left', description: 'wait', branch: 'left' }).catch(() => undefined);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      ...{ cwd: ROOT, stdio: 'ignore' },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const pool = createPool(project, 'sleep 1000', { maxWorkers: 1 });
    await pool.start();
    await until('the other process has a worker', () => pool.getWorkerCount() === 1);
    expect(pool.getAllWorkers()).toMatchObject([
      { id: 'ephemeral-left', currentTask: { id: 'left', branch: 'left' } },
    ]);
    expect([pool.getLimit().workers, pool.getAvailableWorkers()]).toEqual([1, []]);
    const assigned = pool.assignTask(task('mine', { branch: 'mine' })).catch((thrown: unknown) => thrown);
    child.kill('SIGKILL');
    await until(
      'its worker is settled and mine begins',
      () => pool.getAllWorkers().some(({ id }) => id === 'ephemeral-mine'),
      60_000,
    );
    const waits = pool.assignTask(task('waits')).catch((thrown: unknown) => thrown);
    await pool.stop();
    expect(await assigned).toBeInstanceOf(WorkerFailedError);
    expect(await waits).toBeInstanceOf(PoolStoppedError);
    expect(await pool.assignTask(task('late')).catch((thrown: unknown) => thrown)).toBeInstanceOf(
      PoolStoppedError,
    );
    const caisson = await createCaisson({ cwd: project.root });
    onTestFinished(() => caisson.close());
    const runs = await caisson.runs();
    expect(runs.filter(({ status }) => status === 'running' || status === 'queued')).toEqual([]);
  });

  it('is limited by the smaller of maxWorkers and limits.concurrency, and says which', async () => {
    const lines: string[] = [];
    const project = createProject({ config: 'limits: { concurrency: 3 }\n' });
    await grantTrust({ cwd: project.root });
    const config = { cwd: project.root, request: { runtime: 'command', argv: ['true'] } };
    const pool = new WorkerPool(config, '', { log: (line) => lines.push(line) });
    onTestFinished(() => pool.stop());
    await pool.start();
    expect(pool.getLimit()).toEqual({ workers: 3, by: 'limits.concurrency' });
    expect(pool.getAvailableWorkers()).toHaveLength(3);
    expect(lines).toEqual(['Worker pool ready (ephemeral mode): at most 3 at once, by limits.concurrency']);
    const small = createPool(project, 'true', { maxWorkers: 2 });
    await small.start();
    expect(small.getLimit()).toEqual({ workers: 2, by: 'maxWorkers' });
  });

  it('refuses a secret in place of its reference, and a prompt that is not there', async () => {
    const project = createProject();
    expect(() => createPool(project, 'true', { llm: { apiKey: 'sk-secret' } })).toThrow(PoolConfigError);
    expect(() => createPool(project, 'true', { gitToken: 'ghp_secret' })).toThrow(/where the secret is/);
    expect(() => createPool(project, 'true', { maxWorkers: 0 })).toThrow(PoolConfigError);
    const pool = new WorkerPool({ cwd: project.root }, '@no-such-prompt.md');
    await expect(pool.start()).rejects.toThrow(/no-such-prompt\.md cannot be read/);
  });
});

it('the example runs', TIMEOUT, async () => {
  const project = createProject();
  const child = spawn(process.execPath, [join(ROOT, 'examples/worker-pool.mjs'), project.root], {
    ...{ cwd: ROOT, env: project.env, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  const { code, stdout, stderr } = await finish(child);
  expect([code, stderr]).toEqual([0, '']);
  for (const id of ['task-001', 'task-002', 'task-003'])
    expect(stdout).toContain(`${id} complete on worker/${id}-write-a-greeting: +1 lines`);
});

describe('the model of a pool', TIMEOUT, () => {
  const KEY = 'pool-key-7Qw2';
  it.each([
    ['native', /"max_tokens":777\b/, /"temperature":0\.5\b/],
    ['pi', /"max_tokens":777\b/, /"temperature":0\.5\b/],
    ['codex', /"model":"pool-model"/, /"model":"pool-model"/],
  ])('reaches %s: address, key, name, sampling and prompt', async (runtime, ...sampled) => {
    const call = {
      intent: 'mcp' as const,
      tool: 'hand_off',
      arguments: { status: 'complete', summary: 'It is.' },
    };
    const server = await startModelServer({ script: [{ tool: call }, { say: 'Done.' }], apiKey: KEY });
    onTestFinished(() => server.stop());
    const pinned = PINNED_AGENTS.find(({ name }) => name === runtime);
    const bin = pinned === undefined ? null : (findAgentBin(runtime) ?? (await installAgent(pinned)));
    const project = createProject({
      config: bin === null ? '' : `runtimes:\n  ${runtime}: { bin: "${bin}" }\n`,
    });
    await grantTrust({ cwd: project.root });
    project.write('worker.md', 'You work for the pool of moles.');
    writeFileSync(join(project.root, '..', 'key'), KEY);
    const pool = new WorkerPool(
      {
        cwd: project.root,
        llm: {
          ...{ endpoint: `${server.url}//`, model: 'pool-model', maxTokens: 777, temperature: 0.5 },
          apiKey: `file:${join(project.root, '..', 'key')}`,
        },
        request: { runtime },
      },
      '@worker.md',
    );
    onTestFinished(() => pool.stop());
    const handoff = await pool.assignTask(task('asks'));
    expect(handoff).toMatchObject({ status: 'complete', by: 'agent', verdict: { isEmpty: true } });
    expect(handoff.metrics.toolCallCount).toBe(1);
    const asked = JSON.stringify(server.modelRequests().map(({ body }) => body));
    for (const pattern of [/You work for the pool of moles/, /"model":"pool-model"/, ...sampled])
      expect(asked).toMatch(pattern);
    expect(server.modelRequests().every(({ path }) => /^\/v1\/[a-z]+/.test(path))).toBe(true);
  });
});
