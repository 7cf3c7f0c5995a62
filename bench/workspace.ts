// A worktree of a 700-file repository against `git worktree add --detach` of it, and the whole custody of an attempt
// (prepare, capture, checkpoint, remove) against the same; capture against `git add` + `git diff` by hand. And a worktree of a
// remote that was fetched, against `git worktree add` there.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

import {
  createWorkspaces,
  type PreparedWorkspace,
  type Workspaces,
} from '../packages/engine/src/workspace/index.ts';
import {
  capturePatch,
  createStamp,
  parseRemoteAddress,
  proveApplies,
  type CapturedPatch,
} from '../packages/ground/src/index.ts';
import type { BenchRow } from './bench-row.ts';

const execute = promisify(execFile);
const FILES = 700;
const CHANGED = 20;
const ROUNDS = 12;

export async function run(): Promise<BenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'caisson-bench-ws-'));
  try {
    return await measure(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string): Promise<BenchRow[]> {
  const root = join(folder, 'repo');
  await makeRepository(root);
  const workspaces = createWorkspaces({ home: folder, stamp: createStamp(Buffer.from('bench')) });
  const times = {
    worktree: [] as number[],
    prepare: [] as number[],
    whole: [] as number[],
    byHand: [] as number[],
    capture: [] as number[],
  };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const keep = (list: number[], value: number): void => void (round > 0 && list.push(value));
    const worktree = join(folder, `worktree-${round}`);
    keep(times.worktree, await time(() => git(root, 'worktree', 'add', '-q', '--detach', worktree)));
    await change(worktree);
    keep(times.byHand, await time(() => diffByHand(worktree)));
    await git(root, 'worktree', 'remove', '--force', worktree);

    const idle = await attempt(workspaces, root, `idle${round}`, false);
    keep(times.prepare, idle.prepareMs);
    keep(times.whole, idle.prepareMs + idle.captureMs + idle.proveMs + idle.custodyMs);
    keep(times.capture, (await attempt(workspaces, root, `busy${round}`, true)).captureMs);
    await workspaces.gc({ stateDir: join(root, '.caisson'), trashTtlMs: 0 });
  }
  const add = median(times.worktree);
  return [
    ...describeRemote(await measureRemote(folder, root, workspaces)),
    row(
      'workspace: prepare a worktree of 700 files',
      median(times.prepare),
      'git worktree add --detach',
      add,
      1.5,
    ),
    row(
      'workspace: prepare, capture, checkpoint and remove, nothing changed',
      median(times.whole),
      'git worktree add --detach',
      add,
      1.5,
    ),
    row(
      'workspace: capture 20 changed files of 700',
      median(times.capture),
      'git add -A + git diff --cached --binary',
      median(times.byHand),
      3,
    ),
  ];
}

const AT_ONCE = 64;

type RemoteTimes = Awaited<ReturnType<typeof measureRemote>>;

function describeRemote(remote: RemoteTimes): BenchRow[] {
  return [
    row(
      'workspace: prepare a worktree of a remote of 700 files, once fetched',
      median(remote.prepare),
      'git worktree add --detach',
      median(remote.worktree),
      1.2,
    ),
    {
      ...row(
        'workspace: what a run waits for: look at that remote (its refs, whether all is here), and prepare',
        median(remote.whole),
        'git fetch, then git worktree add --detach',
        median(remote.byFetch),
        2,
      ),
      details: [`of it, to look at the remote: ${Math.round(median(remote.look))} ms`],
    },
    {
      ...{ name: 'workspace: 64 worktrees of a remote at once, that failed', unit: 'failures' },
      ...{
        value: remote.failures,
        peer: 'made at once',
        peerValue: AT_ONCE,
        ratio: remote.failures / AT_ONCE,
      },
      ...{ target: '0', met: remote.failures === 0 },
    },
  ];
}

/** A remote behind a path: how far the network is makes no difference once it is fetched. */
async function measureRemote(folder: string, root: string, workspaces: Workspaces) {
  const bare = join(folder, 'bare.git');
  await git(folder, 'clone', '-q', '--bare', root, bare);
  const place = { projectRoot: join(folder, 'home'), stateDir: join(folder, 'home/.caisson') };
  await mkdir(place.projectRoot);
  const order = { ...place, remote: parseRemoteAddress(bare, folder), access: {}, timeoutMs: 60_000 };
  const clone = join(folder, 'clone.git');
  await git(folder, 'clone', '-q', '--bare', bare, clone);
  const prepare = async (name: string): Promise<{ look: number; prepare: number }> => {
    const run = { runId: `run_${name.padStart(20, '0')}`, attempt: 1 };
    const beganMs = performance.now();
    const fetched = await workspaces.fetchBase({ ...order, ...run, maxBytes: 2 ** 30 });
    const look = performance.now() - beganMs;
    const options = { ...place, ...run, kind: 'worktree', include: [], fetched } as const;
    let prepared: PreparedWorkspace | undefined;
    const ms = await time(async () => void (prepared = await workspaces.prepare(options)));
    if (prepared !== undefined) await workspaces.remove(prepared, { force: true });
    return { look, prepare: ms };
  };
  const empty = (): number[] => [];
  const times = { worktree: empty(), prepare: empty(), look: empty(), whole: empty(), byFetch: empty() };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const keep = (list: number[], value: number): void => void (round > 0 && list.push(value));
    const worktree = join(folder, `remote-worktree-${round}`);
    keep(times.worktree, await time(() => git(bare, 'worktree', 'add', '-q', '--detach', worktree)));
    await git(bare, 'worktree', 'remove', '--force', worktree);
    const fetching = await time(() => git(clone, 'fetch', '-q', bare, 'HEAD'));
    const adding = await time(() => git(clone, 'worktree', 'add', '-q', '--detach', worktree));
    await git(clone, 'worktree', 'remove', '--force', worktree);
    keep(times.byFetch, fetching + adding);
    const own = await prepare(`round${round}`);
    keep(times.prepare, own.prepare);
    keep(times.look, own.look);
    keep(times.whole, own.look + own.prepare);
  }
  const made = await Promise.allSettled(Array.from({ length: AT_ONCE }, (_, index) => prepare(`at${index}`)));
  return { ...times, failures: made.filter(({ status }) => status === 'rejected').length };
}

async function attempt(workspaces: Workspaces, root: string, name: string, isBusy: boolean) {
  const runId = `run_${name.padStart(20, '0')}`;
  const options = {
    kind: 'worktree',
    projectRoot: root,
    stateDir: join(root, '.caisson'),
    runId,
    attempt: 1,
    include: [],
  } as const;
  let prepared: PreparedWorkspace | undefined;
  const prepareMs = await time(async () => void (prepared = await workspaces.prepare(options)));
  if (prepared === undefined) throw new Error('prepare gave nothing');
  const { path: workspace, gitDir, baselineTree, exclude } = prepared;
  if (isBusy) await change(workspace);
  let captured: CapturedPatch | undefined;
  const captureMs = await time(
    async () => void (captured = await capturePatch({ workspace, gitDir, baselineTree, exclude })),
  );
  const proveMs = await time(async () => {
    const isProven = captured !== undefined && (await proveApplies({ gitDir, baselineTree, ...captured }));
    if (!isProven) throw new Error('the patch was not proven');
  });
  const done = prepared;
  const custodyMs = await time(async () => {
    await workspaces.checkpoint(done);
    await workspaces.remove(done);
  });
  return { prepareMs, captureMs, proveMs, custodyMs };
}

async function makeRepository(root: string): Promise<void> {
  await mkdir(root);
  await git(root, 'init', '-q');
  for (let index = 0; index < FILES; index += 1) {
    await mkdir(join(root, `d${index % 20}`), { recursive: true });
    await writeFile(join(root, `d${index % 20}`, `f${index}.txt`), `line ${index}\n`.repeat(150));
  }
  await writeFile(join(root, '.gitignore'), '.caisson\n');
  await git(root, 'add', '-A');
  await git(root, '-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-qm', 'first');
  // Git trusts file times only when they are older than the index by a second; a real repository's are.
  await setTimeout(1100);
  await git(root, 'update-index', '--refresh');
}

async function change(folder: string): Promise<void> {
  for (let index = 0; index < CHANGED; index += 1) {
    await writeFile(join(folder, `d${index % 20}`, `f${index}.txt`), `changed ${index}\n`.repeat(150));
  }
}

async function diffByHand(worktree: string): Promise<void> {
  await git(worktree, 'add', '-A');
  await git(worktree, 'diff', '--cached', '--binary', '--full-index');
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  await execute('git', args, { cwd, maxBuffer: 64 * 1024 * 1024 });
}

async function time(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function row(name: string, value: number, peer: string, peerValue: number, limit: number): BenchRow {
  const ratio = value / peerValue;
  return { name, value, unit: 'ms', peer, peerValue, ratio, target: `<= ${limit}x`, met: ratio <= limit };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
