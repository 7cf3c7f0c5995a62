// A project with 600 MB of installed packages against the same project without them: how soon a command is ready, and
// what ten runs leave on the disk that each change one file.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCaisson, type Caisson } from 'caisson';

import type { BenchRow } from './bench-row.ts';
import { createScratch, median, type Scratch } from './dispatch/scratch.ts';

const PACKAGES = 1000;
const FILES = 30;
const FILE_BYTES = 20 * 1024;
const ROUNDS = 15;
const RUNS = 10;
const MAX_MORE_MS = 100;
const MAX_MB = 20;

export async function run(): Promise<BenchRow[]> {
  const scratches = [createScratch('bare'), createScratch('folders')] as const;
  const [bare, full] = scratches;
  for (const scratch of scratches) makeProject(scratch.project);
  installPackages(full.project);
  const opened = await Promise.all(scratches.map(({ project }) => createCaisson({ cwd: project })));
  try {
    const [without, having] = opened as [Caisson, Caisson];
    return [await measureReady(without, having), await measureDisk(having, full, bare)];
  } finally {
    for (const caisson of opened) await caisson.close();
    for (const scratch of scratches) scratch.remove();
  }
}

async function measureReady(without: Caisson, having: Caisson): Promise<BenchRow> {
  const times = { without: [] as number[], having: [] as number[] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const pair = { without: await timeToSandbox(without), having: await timeToSandbox(having) };
    if (round === 0) continue;
    times.without.push(pair.without);
    times.having.push(pair.having);
  }
  const [value, peerValue] = [median(times.having), median(times.without)];
  return {
    name: 'folders: ready with 600 MB of node_modules',
    ...{ value, unit: 'ms p50', peer: 'the same project without', peerValue, ratio: value / peerValue },
    target: `at most ${MAX_MORE_MS} ms more`,
    met: value - peerValue <= MAX_MORE_MS,
  };
}

async function timeToSandbox(caisson: Caisson): Promise<number> {
  const startedAt = performance.now();
  const handle = await caisson.dispatch({ argv: ['true'] });
  let ms = Number.NaN;
  for await (const event of handle.events())
    if (event.type === 'sandbox.started') ms = performance.now() - startedAt;
  await handle.ended;
  return ms;
}

async function measureDisk(
  caisson: Caisson,
  { project }: Scratch,
  { project: bare }: Scratch,
): Promise<BenchRow> {
  const before = usedMb(project);
  const script = 'echo changed >> node_modules/p0/f0.js && echo $$ > changed.txt';
  for (let round = 0; round < RUNS; round += 1) {
    const { status } = await (await caisson.dispatch({ argv: ['sh', '-c', script] })).ended;
    if (status !== 'done') throw new Error(`the run ended as ${status}`);
  }
  const value = usedMb(project) - before;
  const peerValue = before - usedMb(bare);
  return {
    name: `folders: disk used by ${RUNS} runs that change one file`,
    ...{ value, unit: 'MB', peer: 'one copy of the folder', peerValue, ratio: value / peerValue },
    target: `< ${MAX_MB} MB`,
    met: value < MAX_MB,
  };
}

function usedMb(folder: string): number {
  return Number(execFileSync('du', ['-sk', folder], { encoding: 'utf8' }).split('\t')[0]) / 1024;
}

function makeProject(project: string): void {
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@b', ...args], { cwd: project });
  git('init', '-q');
  writeFileSync(join(project, 'package.json'), '{"name":"bench"}');
  writeFileSync(join(project, '.gitignore'), 'node_modules\n.caisson\n');
  git('add', '-A');
  git('commit', '-qm', 'first');
}

function installPackages(project: string): void {
  const content = Buffer.alloc(FILE_BYTES, 'x');
  for (let index = 0; index < PACKAGES; index += 1) {
    const folder = join(project, 'node_modules', `p${index}`);
    mkdirSync(folder, { recursive: true });
    for (let file = 0; file < FILES; file += 1) writeFileSync(join(folder, `f${file}.js`), content);
  }
}
