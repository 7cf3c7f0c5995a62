/** The whole way: a bare remote repository, a real agent with a scripted model, a pushed branch, a checked hand-off. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCaisson, grantTrust, PushFailedError, WorkerPool, type WorkerPoolConfig } from 'caisson';
import { startModelServer, type ScriptInput } from '@caisson/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { findAgentBin, installAgent, PINNED_AGENTS } from '../agents/install-agents.mjs';
import { createProject, type Project } from './project.ts';

const KEY = 'pool-model-key-Zx81';
const SCRIPT: ScriptInput = [
  { tool: { intent: 'write-file', path: 'login.txt', content: 'login\nsession\n' } },
  {
    tool: {
      intent: 'mcp',
      tool: 'hand_off',
      arguments: { status: 'complete', summary: 'Users can log in.', suggestions: ['Add a log-out.'] },
    },
  },
  { say: 'Done.' },
];

/** A project with an agent, beside a bare repository. */
async function createRemote(runtime: string) {
  const source = createProject();
  const remote = join(source.root, '..', 'remote.git');
  execFileSync('git', ['clone', '-q', '--bare', source.root, remote]);
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', remote, ...args], { encoding: 'utf8' });
  const server = await startModelServer({ script: SCRIPT, apiKey: KEY });
  onTestFinished(() => server.stop());
  const pinned = PINNED_AGENTS.find(({ name }) => name === runtime);
  const bin = pinned === undefined ? null : (findAgentBin(runtime) ?? (await installAgent(pinned)));
  const project = createProject({
    config: bin === null ? 'limits: { concurrency: 2 }\n' : `runtimes:\n  ${runtime}: { bin: "${bin}" }\n`,
  });
  await grantTrust({ cwd: project.root });
  const keyFile = join(project.root, '..', 'key');
  writeFileSync(keyFile, KEY);
  const config: WorkerPoolConfig = {
    ...{ cwd: project.root, maxWorkers: 4, workerTimeout: 120 },
    llm: { endpoint: server.url, model: 'scripted-model', maxTokens: 4096, apiKey: `file:${keyFile}` },
    git: { url: remote, branch: 'main' },
    request: { runtime },
  };
  const pool = new WorkerPool(config, 'You are a worker.');
  onTestFinished(() => pool.stop());
  return { project, remote, git, pool, server };
}

const task = (id: string) => ({
  ...{ id, description: 'Implement user authentication', scope: ['login.txt'], branch: `worker/${id}` },
  ...{ acceptance: 'Users can log in', status: 'pending', createdAt: Date.now(), priority: 5 },
});

/** Processes whose working folder or command line is in the state of the project. */
function processesOf({ root }: Project): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(root);
      } catch {
        return false;
      }
    });
}

it.each(['codex', 'pi'])(
  'a task of a pool is done by the real %s on a remote repository, pushed and handed off',
  { timeout: 240_000 },
  async (runtime) => {
    const { project, git, pool } = await createRemote(runtime);
    const handoff = await pool.assignTask(task('task-001'));
    expect(handoff).toMatchObject({
      ...{ taskId: 'task-001', status: 'complete', by: 'agent', summary: 'Users can log in.' },
      ...{ suggestions: ['Add a log-out.'], filesChanged: ['login.txt'], outOfScope: [] },
      ...{ branch: 'worker/task-001', baseCommit: git('rev-parse', 'main').trim() },
      metrics: { linesAdded: 2, filesCreated: 1, toolCallCount: 2 },
      verdict: {
        ...{ patchApplies: true, branchExists: true, pushed: true },
        ...{ scopeRespected: true, verify: 'none', isEmpty: false },
      },
    });
    expect(git('rev-parse', 'worker/task-001').trim()).toBe(handoff.headCommit);
    expect(git('show', 'worker/task-001:login.txt')).toBe('login\nsession\n');
    await pool.stop();
    expect(processesOf(project)).toEqual([]);
    const caisson = await createCaisson({ cwd: project.root });
    onTestFinished(() => caisson.close());
    const [run] = await caisson.runs();
    const types = (await caisson.events(run?.runId ?? '')).map(({ type }) => type);
    const flow = [
      'repository.fetched',
      'dispatch.started',
      'handoff.recorded',
      'dispatch.finished',
      'branch.pushed',
    ];
    expect(types.filter((type) => flow.includes(type))).toEqual(flow);
    expect(JSON.stringify(await caisson.events(run?.runId ?? ''))).not.toContain(KEY);
  },
);

it(
  'a push that the remote rejects is no success: the error names run and branch',
  { timeout: 120_000 },
  async () => {
    const { remote, git, pool } = await createRemote('native');
    writeFileSync(join(remote, 'hooks', 'pre-receive'), '#!/bin/sh\necho closed for today >&2\nexit 1\n', {
      mode: 0o755,
    });
    const error: unknown = await pool.assignTask(task('task-002')).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PushFailedError);
    expect(error).toMatchObject({
      ...{ taskId: 'task-002', branch: 'worker/task-002', runId: expect.stringMatching(/^run_/) as string },
      handoff: { status: 'complete', verdict: { branchExists: true, pushed: false } },
    });
    expect(git('branch', '--list').trim()).toBe('* main');
  },
);
