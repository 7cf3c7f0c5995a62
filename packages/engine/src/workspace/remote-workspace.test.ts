import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseRemoteAddress } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';

import { branchPinRef, REMOTES } from './custody.ts';
import { createWorkspaces, type PreparedWorkspace } from './index.ts';
import { createScratchProject, STAMP } from './scratch-project-stage.ts';

const TASKS = 64;

function openRemote() {
  const project = createScratchProject();
  onTestFinished(() => project.dispose());
  project.write('a.txt', 'one\n');
  project.write('folder/b.txt', 'two\n');
  project.commit('first');
  const stateDir = join(project.root, '.caisson');
  const path = join(project.root, '.bare');
  project.git('clone', '-q', '--bare', '.', path);
  const remote = parseRemoteAddress(path, project.root);
  const order = { stateDir, remote, access: {}, timeoutMs: 120_000 };
  const git = (...args: string[]): string =>
    execFileSync('git', [`--git-dir=${path}`, ...args], { encoding: 'utf8' }).trim();
  return { project, stateDir, order, path, git };
}

/** Cleans a repository up without a pause, as the worst neighbour would, until the test is over. */
function cleanUpWithoutEnd(gitDir: string, how: string): () => void {
  const script = `while :; do git --git-dir=${gitDir} gc -q --force ${how}; git --git-dir=${gitDir} pack-refs --all; sleep 0.3; done`;
  const child = spawn('sh', ['-c', script], { stdio: 'ignore', detached: true });
  const stop = (): void => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // it is over already
    }
  };
  onTestFinished(stop);
  return stop;
}

test('64 tasks on one remote at once, with gc and foreign locks around them, end in 64 branches', async () => {
  const { project, stateDir, order, git, path } = openRemote();
  const workspaces = createWorkspaces({ home: project.root, stamp: STAMP });
  const first = await workspaces.fetchBase({ ...order, runId: 'run_first', attempt: 1, maxBytes: 2 ** 30 });
  // Of a remote that drops at once what a push has just brought, git itself says that it breaks.
  const stops = [cleanUpWithoutEnd(first.dir, '--prune=now'), cleanUpWithoutEnd(path, '')];
  const lock = join(first.dir, 'packed-refs.lock');
  const locking = setInterval(() => {
    if (existsSync(lock)) return;
    writeFileSync(lock, '');
    setTimeout(() => rmSync(lock, { force: true }), 20);
  }, 500);
  onTestFinished(() => clearInterval(locking));
  const carryOut = async (index: number): Promise<PreparedWorkspace> => {
    const [runId, attempt, branch] = [`run_${index}`, 1, `worker/${index}`];
    const fetched = await workspaces.fetchBase({ ...order, runId, attempt, maxBytes: 2 ** 30 });
    const task = { kind: 'worktree', projectRoot: project.root, stateDir, include: [] } as const;
    const prepared = await workspaces.prepare({ ...task, runId, attempt, branch, fetched });
    writeFileSync(join(prepared.path, 'work.txt'), `${index}\n`);
    const saved = await workspaces.checkpoint(prepared);
    if (saved?.branch === undefined) throw new Error('nothing was saved');
    const { custodyDir } = prepared;
    await workspaces.writeBranch({ custodyDir, branch: saved.branch, runId, attempt, from: null });
    const { commit } = saved.branch;
    await workspaces.pushBranch({ ...order, branch, commit, expected: null, earlier: [], runId, attempt });
    expect(await workspaces.remove(prepared)).toMatchObject({ kind: 'removed' });
    return prepared;
  };
  const tasks = await Promise.all(Array.from({ length: TASKS }, (_, index) => carryOut(index)));
  clearInterval(locking);
  for (const stop of stops) stop();
  const names = git('for-each-ref', '--format=%(refname:short)', 'refs/heads/worker/').split('\n');
  expect(names.toSorted()).toEqual(tasks.map((_, index) => `worker/${index}`).toSorted());
  for (const name of names) expect(git('show', `${name}:work.txt`)).toBe(name.slice('worker/'.length));
  expect(readdirSync(join(stateDir, REMOTES))).toHaveLength(1);
  expect(readdirSync(join(stateDir, 'worktrees'))).toEqual([]);
  const cached = execFileSync('git', [
    `--git-dir=${first.dir}`,
    'for-each-ref',
    '--format=%(refname)',
  ]).toString();
  expect(cached).not.toContain('refs/heads/');
  expect(cached).toContain(branchPinRef('run_63', 1));
  const runs = new Set([...cached.matchAll(/refs\/caisson\/([^/]+)/g)].map(([, runId]) => runId));
  expect(runs.size).toBe(TASKS + 1);
}, 300_000);

test('of runs that share one fetch, only those are refused whose own branch the remote has', async () => {
  const { project, order, git } = openRemote();
  const workspaces = createWorkspaces({ home: project.root, stamp: STAMP });
  git('branch', 'there', 'HEAD');
  const head = git('rev-parse', 'HEAD');
  const ask = (runId: string, branch: string, earlier: readonly string[]) =>
    workspaces.fetchBase({ ...order, runId, attempt: 1, maxBytes: 2 ** 30, pushTo: { branch, earlier } });
  const asked = [
    ask('run_a', 'there', []),
    ask('run_b', 'free', []),
    ask('run_c', 'there', []),
    ask('run_d', 'there', ['a'.repeat(40), head]),
  ];
  const ends = await Promise.allSettled(asked);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
  expect(ends[2]).toMatchObject({
    reason: { problem: 'taken', remedy: expect.stringContaining('--branch') },
  });
});

test('a push goes over what an earlier run of its task brought unrecorded, and over nothing else', async () => {
  const { project, order, git, path } = openRemote();
  const workspaces = createWorkspaces({ home: project.root, stamp: STAMP });
  const [base, branch] = [git('rev-parse', 'HEAD'), 'work'];
  const commitOn = (gitDir: string, parent: string, message: string): string =>
    execFileSync(
      'git',
      [
        ...[`--git-dir=${gitDir}`, '-c', 'user.name=T', '-c', 'user.email=t@example.invalid'],
        ...['commit-tree', `${base}^{tree}`, '-p', parent, '-m', message],
      ],
      { encoding: 'utf8' },
    ).trim();
  const run = { runId: 'run_a', attempt: 1 };
  const { dir } = await workspaces.fetchBase({ ...order, ...run, maxBytes: 2 ** 30 });
  const first = commitOn(dir, base, 'first');
  const second = commitOn(dir, first, 'second');
  const push = (commit: string, earlier: readonly string[]): Promise<void> =>
    workspaces.pushBranch({ ...order, ...run, branch, commit, expected: null, earlier });
  await push(first, []);
  await push(second, [first]);
  expect(git('rev-parse', branch)).toBe(second);
  await push(first, []); // it came late: its work is there
  expect(git('rev-parse', branch)).toBe(second);
  const foreign = commitOn(path, second, 'of another');
  git('update-ref', `refs/heads/${branch}`, foreign);
  await expect(push(commitOn(dir, second, 'third'), [second, first])).rejects.toMatchObject({
    problem: 'taken',
  });
  expect(git('rev-parse', branch)).toBe(foreign);
});

/** A server that takes connections, and never says a word. */
async function openSilent(stateDir: string) {
  let asked = 0;
  const first = Promise.withResolvers<null>();
  const server = createServer(() => {
    asked += 1;
    first.resolve(null);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/r.git`;
  const remote = parseRemoteAddress(url, stateDir);
  const order = { stateDir, remote, access: {}, attempt: 1, maxBytes: 2 ** 30 };
  return { order, first: first.promise, asked: () => asked };
}

test('a run that waits for the fetch of another one can be stopped, and that one goes on', async () => {
  const { project, stateDir } = openRemote();
  const workspaces = createWorkspaces({ home: project.root, stamp: STAMP });
  const { order, first } = await openSilent(stateDir);
  const [own, joined] = [new AbortController(), new AbortController()];
  const fetchFor = (runId: string, { signal }: AbortController): Promise<unknown> =>
    workspaces.fetchBase({ ...order, timeoutMs: 600_000, runId, signal }).catch((error: unknown) => error);
  let isOver = false;
  const fetching = fetchFor('run_a', own).finally(() => (isOver = true));
  await first;
  const waiting = fetchFor('run_b', joined);
  const stopped = new Error('stopped');
  joined.abort(stopped);
  expect(await waiting).toBe(stopped);
  expect(isOver).toBe(false);
  own.abort();
  await fetching;
});

test('a remote that says nothing in time is asked once for all that wait for it', async () => {
  const { project, stateDir } = openRemote();
  const workspaces = createWorkspaces({ home: project.root, stamp: STAMP });
  const { order, asked } = await openSilent(stateDir);
  const runs = ['run_a', 'run_b', 'run_c'];
  const ends = await Promise.all(
    runs.map((runId) =>
      workspaces.fetchBase({ ...order, timeoutMs: 1500, runId }).catch((error: unknown) => error),
    ),
  );
  for (const end of ends) expect(end).toMatchObject({ problem: 'timeout' });
  expect(asked()).toBe(1);
});

test('a tag of a file or folder is no base: that is said, with what helps, and no ref stays', async () => {
  const { project, order, git } = openRemote();
  const workspaces = createWorkspaces({ home: project.root, stamp: STAMP });
  git('tag', 'file', 'HEAD:a.txt');
  git('-c', 'user.name=T', '-c', 'user.email=t@example.invalid', 'tag', '-am', 'x', 'tree', 'HEAD^{tree}');
  const fetchFrom = (base?: string) => {
    const run = { runId: `run_${base ?? 'head'}`, attempt: 1, maxBytes: 2 ** 30 };
    return workspaces.fetchBase({ ...order, ...run, ...definedOnly({ base }) });
  };
  for (const base of ['file', 'tree', 'file', 'tree'])
    await expect(fetchFrom(base)).rejects.toMatchObject({
      problem: 'unknown',
      remedy: expect.stringContaining('--base') as string,
    });
  const { dir } = await fetchFrom();
  await workspaces.unpinBase(order.stateDir, order.remote.url, { runId: 'run_head', attempt: 1 });
  expect(execFileSync('git', [`--git-dir=${dir}`, 'for-each-ref']).toString()).toBe('');
});
