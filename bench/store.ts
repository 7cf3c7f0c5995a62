/** First put, re-put and verified materialise of a 700-file, 12 MiB tree, against tar, sha256sum and git. */
import { execFileSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openLocalStore } from '../packages/engine/src/store/index.ts';
import type { BenchRow } from './bench-row.ts';

const FILES = 700;
const TREE_BYTES = 12 * 1024 * 1024;
const ROUNDS = 9;

export async function run(): Promise<BenchRow[]> {
  const work = mkdtempSync(join(tmpdir(), 'caisson-bench-store-'));
  try {
    const tree = join(work, 'tree');
    writeTree(tree);
    const times = { put: [], again: [], write: [], tar: [], git: [] } as Record<string, number[]>;
    const checkout = prepareGit(work, tree);
    for (let round = 0; round < ROUNDS; round += 1) {
      const store = openLocalStore(join(work, `store-${round}`));
      times['tar']?.push(await timeOf(() => shell('tar cf - tree | sha256sum', work)));
      let hash = '';
      times['put']?.push(await timeOf(async () => (hash = (await store.putBundle(tree)).hash)));
      times['again']?.push(await timeOf(() => openLocalStore(join(work, `store-${round}`)).putBundle(tree)));
      times['git']?.push(await checkout(round));
      times['write']?.push(await timeOf(() => store.materialise(hash, join(work, `out-${round}`))));
    }
    const median = (key: string): number => medianOf(times[key] ?? []);
    return [
      row('store: first put of 700 files, 12 MiB', median('put'), 'tar | sha256sum', median('tar'), 2.5),
      row('store: put of the same tree again', median('again'), 'tar | sha256sum', median('tar'), 0.5),
      row('store: verified materialise', median('write'), 'git checkout', median('git'), 1),
    ];
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function row(name: string, value: number, peer: string, peerValue: number, atMost: number): BenchRow {
  const ratio = value / peerValue;
  return { name, value, unit: 'ms', peer, peerValue, ratio, target: `≤ ${atMost} ×`, met: ratio <= atMost };
}

/** Text-like files of uneven size, so that git has something to inflate. */
function writeTree(root: string): void {
  for (let index = 0; index < FILES; index += 1) {
    const folder = join(root, `pkg-${index % 23}`, `part-${index % 5}`);
    mkdirSync(folder, { recursive: true });
    const size = Math.round((TREE_BYTES / FILES) * (0.5 + (index % 11) / 10));
    const noise = randomFillSync(Buffer.alloc(Math.ceil((size * 3) / 8)));
    writeFileSync(
      join(folder, `file-${index}.txt`),
      noise
        .toString('hex')
        .replace(/(.{48})/g, '$1 line\n')
        .slice(0, size),
    );
  }
}

/** The same tree in git, checked out into a fresh folder each round, so that removal is not timed. */
function prepareGit(work: string, tree: string): (round: number) => Promise<number> {
  const gitDir = join(work, 'git');
  const git = (...args: string[]) => execFileSync('git', [`--git-dir=${gitDir}`, ...args], { stdio: 'pipe' });
  execFileSync('git', ['init', '--quiet', '--bare', gitDir]);
  git(`--work-tree=${tree}`, 'add', '--all');
  git(
    '-c',
    'user.name=b',
    '-c',
    'user.email=b@localhost',
    `--work-tree=${tree}`,
    'commit',
    '--quiet',
    '-m',
    'tree',
  );
  return async (round) => {
    const out = join(work, `checkout-${round}`);
    mkdirSync(out);
    return await timeOf(() => git(`--work-tree=${out}`, 'checkout', '--quiet', '--force', 'HEAD', '--', '.'));
  };
}

function shell(command: string, cwd: string): void {
  execFileSync('sh', ['-c', command], { cwd, stdio: 'pipe' });
}

async function timeOf(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
