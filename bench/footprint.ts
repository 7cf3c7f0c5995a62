// What finished runs leave behind: files and disk space, and memory groups in the kernel. Needs a build.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { countMemoryGroups } from '../packages/ground/src/cgroup/fixtures/count-memory-groups.ts';
import type { BenchRow } from './bench-row.ts';
import { createScratch, timeProgram, type Scratch } from './dispatch/scratch.ts';

const RUNS = 64;
const CLI = fileURLToPath(new URL('../packages/cli/bin/caisson.js', import.meta.url));
const MEMORY_GROUPS = '/sys/fs/cgroup/memory';

interface Footprint {
  readonly files: number;
  readonly bytes: number;
}

export async function run(): Promise<BenchRow[]> {
  const ours = createScratch('footprint');
  const peers = createScratch('footprint-git');
  try {
    for (const scratch of [ours, peers]) await makeRepository(scratch);
    await runCaisson(ours);
    const groups = countMemoryGroups();
    const left = await measureLeft(ours, () => runCaisson(ours));
    const stayed = Math.max(0, countMemoryGroups() - groups);
    let worktrees = 0;
    const peerLeft = await measureLeft(peers, () => commitInWorktree(peers, (worktrees += 1)));
    return [
      row('files that a run which does nothing leaves', 'files', left.files, peerLeft.files, 4),
      row(
        'disk space that it leaves, ledger and seal included',
        'kB',
        left.bytes / 1000,
        peerLeft.bytes / 1000,
        20,
      ),
      ...describeGroups(stayed, ours),
    ];
  } finally {
    ours.remove();
    peers.remove();
  }
}

function row(what: string, unit: string, value: number, peerValue: number, most: number): BenchRow {
  return {
    name: `footprint: ${what}`,
    value,
    unit: `${unit} a run`,
    peer: 'git worktree add, commit --allow-empty, worktree remove',
    peerValue,
    ratio: value / peerValue,
    target: `at most ${most} ${unit}`,
    met: value <= most,
  };
}

/** Where memory groups are not of version 1, or not ours to make, there is nothing to compare with. */
function describeGroups(stayed: number, scratch: Scratch): BenchRow[] {
  const peer = countPlainGroups(scratch);
  if (peer === null) return [];
  return [
    {
      name: `footprint: memory groups that stay in the kernel after ${RUNS} runs`,
      value: stayed,
      unit: 'groups',
      peer: 'mkdir, a shell that writes a file, rmdir, as many times',
      peerValue: peer,
      ratio: stayed / Math.max(1, peer),
      // Other programs of the machine make groups while this one counts.
      target: `at most ${RUNS / 8}`,
      met: stayed <= RUNS / 8,
    },
  ];
}

async function runCaisson(scratch: Scratch): Promise<void> {
  await timeProgram(process.execPath, [CLI, 'run', '--runtime', 'command', '--', 'true'], scratch);
}

/** The nearest that git alone has: a folder of its own for the work, and a commit that says it was done. */
async function commitInWorktree(scratch: Scratch, number: number): Promise<void> {
  const folder = join(scratch.root, `worktree-${number}`);
  const git = (...args: string[]): Promise<number> => timeProgram('git', args, scratch);
  await git('worktree', 'add', '-q', '-b', `work-${number}`, folder);
  await git('-C', folder, ...IDENTITY, 'commit', '-q', '--allow-empty', '-m', `run ${number}`);
  await git('worktree', 'remove', folder);
}

const IDENTITY = ['-c', 'user.name=b', '-c', 'user.email=b@example.com'];

async function makeRepository(scratch: Scratch): Promise<void> {
  const git = (...args: string[]): Promise<number> => timeProgram('git', args, scratch);
  await git('init', '-q', '-b', 'main');
  writeFileSync(join(scratch.project, 'README.md'), '# a project\n');
  writeFileSync(join(scratch.project, '.gitignore'), '.caisson\n');
  await git('add', '.');
  await git(...IDENTITY, 'commit', '-q', '-m', 'first');
}

/** Of one run, on average. All that the user has is in the scratch folder. */
async function measureLeft({ root }: Scratch, runOnce: () => Promise<void>): Promise<Footprint> {
  const before = measure(root);
  for (let index = 0; index < RUNS; index += 1) await runOnce();
  const after = measure(root);
  return { files: (after.files - before.files) / RUNS, bytes: (after.bytes - before.bytes) / RUNS };
}

function measure(root: string): Footprint {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const bytes = entries.map(({ parentPath, name }) => lstatSync(join(parentPath, name)).blocks * 512);
  return {
    files: entries.filter((entry) => !entry.isDirectory()).length,
    bytes: bytes.reduce((sum, each) => sum + each, 0),
  };
}

function countPlainGroups({ root }: Scratch): number | null {
  const parent = join(MEMORY_GROUPS, `caisson-bench-${process.pid}`);
  if (!existsSync(join(MEMORY_GROUPS, 'memory.force_empty'))) return null;
  try {
    mkdirSync(parent);
  } catch {
    return null;
  }
  const before = countMemoryGroups();
  for (let index = 0; index < RUNS; index += 1) {
    const folder = join(parent, String(index));
    mkdirSync(folder);
    const script = `echo $$ > ${folder}/cgroup.procs; head -c 65536 /dev/zero > ${root}/${index}`;
    spawnSync('/bin/sh', ['-c', script]);
    rmdirSync(folder);
  }
  const stayed = countMemoryGroups() - before;
  rmdirSync(parent);
  return stayed;
}
