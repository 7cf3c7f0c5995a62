// What is read costs the same in a large ledger as in a small one: time and memory of the commands that list and show.
// The targets are for 500,000 runs: `CAISSON_BENCH_RUNS=500000 npm run bench -- read-model`, every night. Fewer are a short form,
// and each row says so. Needs a build.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { measureInTurns } from './alternate.ts';
import type { BenchRow } from './bench-row.ts';
import { createScratch, timeProgram, type Scratch } from './dispatch/scratch.ts';
import { fillLedger } from './read-model/fill-ledger.ts';
import { openFilledStore } from './read-model/fill-store.ts';
import { openSigning } from './read-model/sign-run.ts';
import { openLocalStore } from '../packages/engine/src/store/index.ts';

const SMALL = 1000;
/** What the targets are stated for. */
const FULL = 500_000;
const LARGE = Number(process.env['CAISSON_BENCH_RUNS'] ?? 50_000);
const SIZE = `${countOf(LARGE)}${LARGE < FULL ? `, a short form of ${countOf(FULL)}` : ''}`;
const ROUNDS = 9;
const AT_MOST = 1.5;
const AT_MOST_MB = 300;
/** Where the user of a scratch folder has them. */
const KEYS = '.local/share/caisson/keys';
const USER = ['-c', 'user.name=B', '-c', 'user.email=b@example.invalid'];
const CLI = fileURLToPath(new URL('../packages/cli/bin/caisson.js', import.meta.url));

interface Filled {
  readonly scratch: Scratch;
  readonly ids: readonly string[];
}

export async function run(): Promise<BenchRow[]> {
  const [small, large] = [createScratch('small-ledger'), createScratch('large-ledger')];
  try {
    const filled = [await fill(small, SMALL), await fill(large, LARGE)] as const;
    return [...(await measure(...filled)), ...(await measureWalks(...filled))];
  } finally {
    small.remove();
    large.remove();
  }
}

/** A run that happened makes the state folder; each of the others has a checkpoint in the repository. */
async function fill(scratch: Scratch, runs: number): Promise<Filled> {
  const git = (...args: string[]): string =>
    execFileSync('git', [...USER, ...args], { cwd: scratch.project, env: scratch.env, encoding: 'utf8' });
  git('init', '-q', '-b', 'main');
  git('commit', '-q', '--allow-empty', '-m', 'first');
  await timeProgram(process.execPath, [CLI, 'run', '--workspace', 'empty', '--', 'true'], scratch);
  const state = join(scratch.project, '.caisson');
  const { digest } = await openLocalStore(join(state, 'store')).putBlob(Buffer.from('seal'));
  const store = openFilledStore(join(state, 'store'));
  const sign = await openSigning(join(scratch.root, KEYS), store);
  const ids = await fillLedger(join(state, 'ledger.db'), runs, digest, { store, sign });
  const tree = git('rev-parse', 'HEAD^{tree}').trim();
  const refs = ids.toSorted().map((id) => `${tree} refs/caisson/${id}/1\n`);
  const packed = `# pack-refs with: peeled fully-peeled sorted \n${refs.join('')}`;
  writeFileSync(join(scratch.project, '.git/packed-refs'), packed);
  writeFileSync(join(scratch.root, 'report.cjs'), REPORT);
  return { scratch, ids };
}

/** Of each command the time and the most memory, in turns. */
async function measure(small: Filled, large: Filled): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [name, argsOf] of Object.entries(COMMANDS)) {
    const memory = { small: 0, large: 0 };
    const look = async (size: keyof typeof memory, { scratch, ids }: Filled): Promise<number> => {
      const { ms, kb } = await runMeasured(scratch, argsOf(ids[Math.floor(ids.length / 2)] ?? ''));
      memory[size] = Math.max(memory[size], kb);
      return ms;
    };
    const ms = await measureInTurns(ROUNDS, {
      small: () => look('small', small),
      large: () => look('large', large),
    });
    rows.push(row(`${name}, time`, 'ms p50', ms.large, ms.small));
    const peak = row(`${name}, peak memory`, 'MB', memory.large / 1000, memory.small / 1000);
    const target = `${peak.target} and ${AT_MOST_MB} MB`;
    rows.push({ ...peak, target, met: peak.met && peak.value <= AT_MOST_MB });
  }
  return rows;
}

const COMMANDS: Readonly<Record<string, (runId: string) => string[]>> = {
  'a list of 50 runs': () => ['runs'],
  'a list by agent and session': () => ['runs', '--agent', 'agent-1', '--session', 'session-1'],
  'one run, by the beginning of its id': (runId) => ['show', runId.slice(0, -4)],
  'one run, by the end of its id': (runId) => ['show', runId.slice(-8)],
  'open approvals': () => ['approvals'],
  'open questions': () => ['questions'],
};

/** What goes through the whole ledger takes its time, and the memory of a small one and some bytes for each blob. */
const WALKS: Readonly<Record<string, string[]>> = {
  gc: ['gc'],
  doctor: ['doctor'],
  'verify --all': ['verify', '--all'],
};

async function measureWalks(small: Filled, large: Filled): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [name, args] of Object.entries(WALKS)) {
    const [few, many] = [await runMeasured(small.scratch, args), await runMeasured(large.scratch, args)];
    const memory = row(`${name}, peak memory`, 'MB', many.kb / 1000, few.kb / 1000);
    const isMet = memory.value <= AT_MOST_MB;
    rows.push({ ...memory, target: `<= ${AT_MOST_MB} MB`, met: isMet });
    // A second is allowed for the start.
    const perRun = (ms: number, runs: number): number => (1000 * ms) / (runs + SMALL);
    const [each, peer] = [perRun(many.ms, LARGE), perRun(few.ms, SMALL)];
    rows.push(row(`${name}, time of a run`, 'us', each, peer));
  }
  return rows;
}

/** Few seals of such a ledger are signed, so `verify` finds fault with the others. */
const REPORT = `process.on('exit', () => {
  if (process.argv.includes('verify')) process.exitCode = 0;
  require('node:fs').writeFileSync(__dirname + '/kb', String(process.resourceUsage().maxRSS));
});\n`;

async function runMeasured(scratch: Scratch, args: readonly string[]): Promise<{ ms: number; kb: number }> {
  const ms = await timeProgram(
    process.execPath,
    ['--require', join(scratch.root, 'report.cjs'), CLI, ...args],
    scratch,
  );
  return { ms, kb: Number(readFileSync(join(scratch.root, 'kb'), 'utf8')) };
}

function row(what: string, unit: string, value: number, peerValue: number): BenchRow {
  const ratio = value / peerValue;
  return {
    name: `read model: ${what}, ${SIZE}`,
    value,
    unit,
    peer: `the same with ${countOf(SMALL)}`,
    peerValue,
    ratio,
    target: `<= ${AT_MOST}x`,
    met: ratio <= AT_MOST,
  };
}

function countOf(runs: number): string {
  return `${runs.toLocaleString('en-US')} runs`;
}
