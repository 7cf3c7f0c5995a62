/**
 * A pool with many tasks at once, on a remote and on its own repository, while both are cleaned up without a pause and foreign
 * lock files come and go. The long form: `CAISSON_POOL_TASKS=64 npx vitest run tests/faults/pool-crowd.test.ts`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { grantTrust, WorkerPool } from 'caisson';
import { expect, it, onTestFinished } from 'vitest';
import { createBareRemote } from '../e2e/bare-remote.ts';
import { createProject, until, type Project } from '../e2e/project.ts';
import { listFolder } from './moments.ts';

const TASKS = Number(process.env['CAISSON_POOL_TASKS'] ?? 8);
const CONCURRENCY = 4;
const LOCK_EVERY_MS = 400;
const LOCK_MS = 20;

/** `git gc` and `git pack-refs` again and again, as the worst neighbour would do it, until the test is over. */
function cleanUpWithoutEnd(gitDir: string): void {
  const script = `while :; do git --git-dir=${gitDir} gc -q --force; git --git-dir=${gitDir} pack-refs --all; sleep 1; done`;
  const child = spawn('sh', ['-c', script], { stdio: 'ignore', detached: true });
  onTestFinished(() => void process.kill(-(child.pid ?? 0), 'SIGKILL'));
}

/** Other people's locks, each for a moment. */
function lockNowAndThen(paths: readonly string[]): () => void {
  const locking = setInterval(() => {
    for (const path of paths.filter((each) => !existsSync(each))) {
      writeFileSync(path, '');
      setTimeout(() => rmSync(path, { force: true }), LOCK_MS);
    }
  }, LOCK_EVERY_MS);
  const stop = (): void => clearInterval(locking);
  onTestFinished(stop);
  return stop;
}

const LOCKS = ['packed-refs.lock', 'index.lock', 'HEAD.lock', 'refs/heads/main.lock'];

function openPlace(kind: 'remote' | 'own') {
  const remote = kind === 'remote' ? createBareRemote() : null;
  const project = createProject({
    git: remote === null,
    config: `limits: { concurrency: ${CONCURRENCY} }\n`,
  });
  const gitDir = remote?.path ?? join(project.root, '.git');
  const git = (...args: string[]): string =>
    execFileSync('git', [`--git-dir=${gitDir}`, ...args], { encoding: 'utf8' }).trim();
  return { project, remote, gitDir, git };
}

/** Nothing of the tasks but their branches: no worktree, no lock, no file of an attempt. */
function expectNothingLeft({ root }: Project, git: (...args: string[]) => string): void {
  expect(listFolder(join(root, '.caisson/worktrees'))).toEqual([]);
  expect(git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1);
  expect(
    listFolder(join(root, '.caisson/runs')).flatMap((run) => listFolder(join(root, '.caisson/runs', run))),
  ).toEqual([]);
}

it.each([
  ['remote', TASKS, CONCURRENCY],
  ['own', CONCURRENCY - 1, CONCURRENCY - 1],
] as const)(
  `a pool of ${TASKS} tasks on a repository (%s) that is cleaned up and locked by others leaves ${TASKS} branches, and no more`,
  { timeout: 600_000 },
  async (kind, maxWorkers, limit) => {
    const { project, remote, gitDir, git } = openPlace(kind);
    await grantTrust({ cwd: project.root });
    const before = git('for-each-ref', '--format=%(refname)').split('\n');
    cleanUpWithoutEnd(gitDir);
    const stop = lockNowAndThen(LOCKS.map((name) => join(gitDir, name)));
    const script = 'echo "$CAISSON_RUN_ID" > work.txt; echo both >> work.txt';
    const pool = new WorkerPool({
      ...{
        cwd: project.root,
        maxWorkers,
        request: { runtime: 'command', argv: ['sh', '-c', script] },
      },
      ...(remote === null ? {} : { git: { url: remote.path, branch: 'main' } }),
    });
    onTestFinished(() => pool.stop());
    let most = 0;
    const counting = setInterval(() => (most = Math.max(most, runningAgents(project))), 10);
    const tasks = Array.from({ length: TASKS }, (_, index) => ({
      ...{ id: `t${index}`, description: 'Write', scope: ['work.txt'], branch: `worker/${index}` },
    }));
    const ended = await Promise.allSettled(tasks.map((task) => pool.assignTask(task)));
    clearInterval(counting);
    stop();
    expect(ended.filter(({ status }) => status === 'rejected')).toEqual([]);
    await until('nobody works', () => pool.getWorkerCount() === 0);
    await pool.stop();
    expect([most > 1, most <= limit]).toEqual([true, true]);
    const made = git('for-each-ref', '--format=%(refname)').split('\n');
    const branches = tasks.map(({ branch }) => `refs/heads/${branch}`);
    const ours = made.filter((ref) => !ref.startsWith('refs/caisson/')); // checkpoints of the own repository
    expect(ours.toSorted()).toEqual([...before, ...branches].toSorted());
    if (remote !== null) expect(made).toEqual(ours);
    for (const branch of branches) expect(git('show', `${branch}:work.txt`)).toMatch(/^run_\w+\nboth$/);
    expectNothingLeft(project, git);
    expect(git('fsck', '--connectivity-only', '--no-dangling')).toBe('');
  },
);

/** Workspaces with an agent or before one: as many as there are places. */
function runningAgents({ root }: Project): number {
  return listFolder(join(root, '.caisson/worktrees')).length;
}
