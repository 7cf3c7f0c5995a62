/** Numbers of the command classifier: recall and false positives next to plain regexes, and time. */
import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';

import { classifyCommand } from '../packages/policy/src/classify-command.ts';
import { parseCorpus, reportCorpus, type Corpus } from '../packages/policy/src/corpus-report.ts';
import type { BenchRow } from './bench-row.ts';

const ROUNDS = 7;
const SAMPLES = 1_500;
const BURST = 5;
const WARM_UP = 3_000;
/** About 200 characters, with what costs: wrappers, substitutions, pipes, quotes, a nested shell. */
const LONG_COMMAND = `cd packages/api && NODE_ENV=test timeout 120 npx vitest run --coverage src/a.test.ts 2>&1 | tee "out-$(date +%s).log" | grep -v warn && bash -c 'git status --short | head -n 20 > /tmp/status.txt' || echo failed`;

export async function run(): Promise<BenchRow[]> {
  const report = reportCorpus(await readCorpus());
  const percent = (share: number): number => Math.round(share * 10_000) / 100;
  const time = await measure(LONG_COMMAND);
  const { classifier, regex, counts } = report;
  return [
    ...(await heldOutRows(percent)),
    row(
      `destructive commands caught (${counts.destructive})`,
      percent(classifier.recall),
      '%',
      '15 regexes',
      percent(regex.recall),
      '>= 98',
      classifier.recall >= 0.98,
    ),
    row(
      `everyday commands flagged (${counts.everyday})`,
      percent(classifier.everydayFlagged),
      '%',
      '15 regexes',
      percent(regex.everydayFlagged),
      '<= 2',
      classifier.everydayFlagged <= 0.02,
    ),
    row(
      `benign twins flagged (${counts.benign})`,
      percent(classifier.benignFlagged),
      '%',
      '15 regexes',
      percent(regex.benignFlagged),
      '<= 2',
      classifier.benignFlagged <= 0.02,
    ),
    row(
      `classification p99, ${LONG_COMMAND.length} characters, warm`,
      time.p99Ms,
      'ms',
      'limit',
      1,
      '< 1',
      time.p99Ms < 1,
    ),
    row(
      `classification p50, ${LONG_COMMAND.length} characters, warm`,
      time.p50Ms,
      'ms',
      'limit',
      1,
      '< 1',
      time.p50Ms < 1,
    ),
  ];
}

interface FirstSight {
  readonly set: string;
  readonly destructive: { readonly lines: number; readonly caught: number };
  readonly everyday: { readonly lines: number; readonly flagged: number };
  readonly regex: { readonly caught: number; readonly flagged: number };
}

/** How many of the newest sets count together: one list is its writer's mood, a few are not. */
const NEWEST = 4;

/** What the newest held-out sets scored when they were new, as it was written down then, and what they score now. */
async function heldOutRows(percent: (share: number) => number): Promise<BenchRow[]> {
  const file = new URL('../packages/policy/corpus/first-sight.json', import.meta.url);
  const { rounds } = JSON.parse(await readFile(file, 'utf8')) as { rounds: FirstSight[] };
  const newest = rounds.slice(-NEWEST);
  if (newest.length === 0) return [];
  const sum = (count: (round: FirstSight) => number): number =>
    newest.reduce((total, round) => total + count(round), 0);
  const destructive = sum((round) => round.destructive.lines);
  const everyday = sum((round) => round.everyday.lines);
  const caught = sum((round) => round.destructive.caught) / destructive;
  const flagged = sum((round) => round.everyday.flagged) / everyday;
  const caughtByRegex = percent(sum((round) => round.regex.caught) / destructive);
  const flaggedByRegex = percent(sum((round) => round.regex.flagged) / everyday);
  const { recall, everydayFlagged } = await scoreNow(newest);
  const once = `${newest.length} held-out sets seen once, before mending`;
  const now = `${newest.length} held-out sets, now`;
  const peer = '15 regexes';
  return [
    row(
      `${once}: caught (${destructive})`,
      percent(caught),
      '%',
      peer,
      caughtByRegex,
      '>= 98',
      caught >= 0.98,
    ),
    row(
      `${once}: flagged (${everyday})`,
      percent(flagged),
      '%',
      peer,
      flaggedByRegex,
      '<= 2',
      flagged <= 0.02,
    ),
    row(
      `${now}: caught (${destructive})`,
      percent(recall),
      '%',
      peer,
      caughtByRegex,
      '>= 98',
      recall >= 0.98,
    ),
    row(
      `${now}: flagged (${everyday})`,
      percent(everydayFlagged),
      '%',
      peer,
      flaggedByRegex,
      '<= 2',
      everydayFlagged <= 0.02,
    ),
  ];
}

async function scoreNow(rounds: readonly FirstSight[]): Promise<{ recall: number; everydayFlagged: number }> {
  const read = async (kind: string) =>
    (await Promise.all(rounds.map(({ set }) => readSet(`${set}-${kind}`)))).flat();
  const corpus = { destructive: await read('destructive'), benign: [], everyday: await read('everyday') };
  return reportCorpus(corpus).classifier;
}

async function readSet(name: string): Promise<string[]> {
  return parseCorpus(
    await readFile(new URL(`../packages/policy/corpus/${name}.txt`, import.meta.url), 'utf8'),
  );
}

async function readCorpus(): Promise<Corpus> {
  const read = readSet;
  return {
    destructive: [...(await read('destructive')), ...(await read('adversarial'))],
    benign: await read('benign'),
    everyday: await read('everyday'),
  };
}

/**
 * The median over rounds, with pauses: calls come one at a time in use, and a loop that never
 * rests measures the scheduler of a busy machine instead.
 */
async function measure(command: string): Promise<{ p50Ms: number; p99Ms: number }> {
  for (let index = 0; index < WARM_UP; index += 1) classifyCommand(command);
  const rounds: { p50Ms: number; p99Ms: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measureRound(command));
  return {
    p50Ms: medianOf(rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: medianOf(rounds.map(({ p99Ms }) => p99Ms)),
  };
}

async function measureRound(command: string): Promise<{ p50Ms: number; p99Ms: number }> {
  const times: number[] = [];
  for (let index = 0; index < SAMPLES; index += 1) {
    if (index % BURST === 0) await setTimeout(1);
    const start = performance.now();
    classifyCommand(command);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => Math.round((times[Math.floor(times.length * share)] ?? 0) * 10_000) / 10_000;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function row(
  name: string,
  value: number,
  unit: string,
  peer: string,
  peerValue: number,
  target: string,
  met: boolean,
): BenchRow {
  const ratio = peerValue === 0 ? 0 : Math.round((value / peerValue) * 1000) / 1000;
  return { name, value, unit, peer, peerValue, ratio, target, met };
}
