// How long a dispatch holds the host's event loop at once, while 16 no-op runs are under way in it: for each run the longest
// turn between its dispatch and its ending.
import { createCaisson, type Caisson } from 'caisson';

import type { BenchRow } from '../bench-row.ts';
import { createScratch } from '../dispatch/scratch.ts';
import { watchTurns, type LoopTurn } from './loop-turns.ts';

const UNDER_WAY = 16;
const PER_LANE = 15;
const WARM_UP = 3;
const MOST_MS = 5;
const NO_OP = { runtime: 'command', argv: ['true'], workspace: 'empty' } as const;

interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

export async function measureLongestTurn(): Promise<BenchRow[]> {
  const scratch = createScratch('turns');
  const caisson = await createCaisson({
    cwd: scratch.project,
    flags: { 'limits.concurrency': UNDER_WAY },
  });
  try {
    await runLanes(caisson, WARM_UP);
    const watch = watchTurns();
    const spans = await runLanes(caisson, PER_LANE);
    return rowsOf(watch.stop(), spans);
  } finally {
    await caisson.close();
    scratch.remove();
  }
}

/** So many runs under way at any time; each lane starts its next run when the one before has ended. */
async function runLanes(caisson: Caisson, runsPerLane: number): Promise<Span[]> {
  const spans: Span[] = [];
  const lane = async (): Promise<void> => {
    for (let index = 0; index < runsPerLane; index += 1) {
      const fromMs = performance.now();
      const run = await caisson.dispatch(NO_OP);
      const { status } = await run.ended;
      if (status !== 'done') throw new Error(`a no-op run ended as ${status}`);
      spans.push({ fromMs, untilMs: performance.now() });
    }
  };
  await Promise.all(Array.from({ length: UNDER_WAY }, lane));
  return spans;
}

function rowsOf(turns: readonly LoopTurn[], spans: readonly Span[]): BenchRow[] {
  const longest = spans.map(({ fromMs, untilMs }) =>
    Math.max(
      ...turns
        .filter(({ endedAtMs }) => endedAtMs >= fromMs && endedAtMs <= untilMs)
        .map(({ cpuMs }) => cpuMs),
    ),
  );
  const all = turns.map(({ cpuMs }) => cpuMs);
  const name = `longest turn of the event loop per dispatch, CPU time, ${UNDER_WAY} under way`;
  return [
    turnRow(`${name}: p99 of ${longest.length}`, percentile(longest, 0.99)),
    turnRow(`${name}: p50`, percentile(longest, 0.5)),
    turnRow(
      `turn of the event loop, CPU time, ${UNDER_WAY} under way: p99 of ${all.length}`,
      percentile(all, 0.99),
    ),
  ];
}

function turnRow(what: string, ms: number): BenchRow {
  return {
    name: `daemon: ${what}`,
    value: ms,
    unit: 'ms',
    peer: 'the bound',
    peerValue: MOST_MS,
    ratio: ms / MOST_MS,
    target: `< ${MOST_MS} ms`,
    met: ms < MOST_MS,
  };
}

function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? Number.NaN;
}
