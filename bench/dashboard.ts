// How the dashboard feels in a real browser: the runs page of a project with very many runs beside one with few, and how
// long it takes from an event to the screen. Needs a build, and Debian's chromium.
import { setTimeout } from 'node:timers/promises';
import { createCaisson } from 'caisson';

import { until } from '../tests/e2e/open-project.ts';
import type { BenchRow } from './bench-row.ts';
import { openBrowser, openScene, type Scene } from './dashboard/open-page.ts';
import { timeOpening, watchRows, type Opening } from './dashboard/watch-page.ts';

const FEW = 100;
const MANY = Number(process.env['CAISSON_BENCH_RUNS'] ?? 100_000);
const ROUNDS = 7;
const MOST_PAINT_MS = 1000;
const MOST_RATIO = 1.5;
const MOST_EVENT_MS = 250;
const WATCHED_RUNS = 30;
const NO_OP = { runtime: 'command', argv: ['true'], workspace: 'empty' } as const;

export async function run(): Promise<BenchRow[]> {
  const ends: (() => void | Promise<unknown>)[] = [];
  const browser = await openBrowser();
  try {
    const few = await openScene(browser, FEW, (end) => ends.push(end));
    const many = await openScene(browser, MANY, (end) => ends.push(end));
    const rows = openingRows(await measureOpenings(many, few));
    const [delays, peerDelays] = [await measureEvents(many), await measureEvents(few)];
    return [...rows, eventRow(delays, peerDelays)];
  } finally {
    await browser.close();
    for (const end of ends.toReversed()) await end();
  }
}

interface Openings {
  readonly many: readonly Opening[];
  readonly few: readonly Opening[];
}

/** In turns, so that a busy moment of the machine hits both; the first round is not counted. */
async function measureOpenings(many: Scene, few: Scene): Promise<Openings> {
  const opened = { many: [] as Opening[], few: [] as Opening[] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const [large, small] = [
      await timeOpening(many.page, many.url),
      await timeOpening(few.page, few.url),
    ] as const;
    if (round === 0) continue;
    opened.many.push(large);
    opened.few.push(small);
  }
  return opened;
}

/** Runs one after another: from the time of an event to that of the frame that shows it. */
async function measureEvents({ project, page, url }: Scene): Promise<number[]> {
  await page.goto(`${url}runs`);
  await page.locator('[role=table] [role=row] a').first().waitFor();
  const readSights = await watchRows(page);
  const caisson = await createCaisson({ cwd: project.root, daemon: true });
  const times = new Map<string, number>();
  try {
    for (let index = 0; index < WATCHED_RUNS; index += 1) {
      const run = await caisson.dispatch(NO_OP);
      for await (const { type, at } of run.events())
        if (type in SHOWN) times.set(`${run.runId} ${type}`, Date.parse(at));
      await setTimeout(100); // they come when they come, not in the rhythm of the page
    }
  } finally {
    await caisson.close();
  }
  return await until('all of it on the screen', async () => findDelays(times, await readSights()));
}

/** What the page shows of an event; a run is there from its acceptance on, whatever it is called by then. */
const SHOWN: Readonly<Record<string, RegExp>> = { 'dispatch.accepted': /./, 'dispatch.finished': /^done/i };

function findDelays(
  times: ReadonlyMap<string, number>,
  sights: Awaited<ReturnType<Awaited<ReturnType<typeof watchRows>>>>,
): number[] | null {
  const delays = [...times].map(([key, atMs]) => {
    const [runId, type = ''] = key.split(' ');
    const seen = sights.find((sight) => sight.runId === runId && SHOWN[type]?.test(sight.status) === true);
    return seen === undefined ? Number.NaN : seen.atMs - atMs;
  });
  return delays.some(Number.isNaN) ? null : delays;
}

function openingRows({ many, few }: Openings): BenchRow[] {
  const median = (openings: readonly Opening[], part: keyof Opening): number =>
    percentile(
      openings.map((opening) => opening[part]),
      0.5,
    );
  const row = (what: string, part: keyof Opening, target: string, isMet: (row: Row) => boolean): BenchRow => {
    const [value, peerValue] = [median(many, part), median(few, part)];
    const measured = { value, peerValue, ratio: value / peerValue };
    return { ...measured, ...describe(what), unit: 'ms p50', target, met: isMet(measured) };
  };
  return [
    row(
      'first paint of the runs',
      'paintedMs',
      `< ${MOST_PAINT_MS} ms`,
      ({ value }) => value < MOST_PAINT_MS,
    ),
    row('time to interactive', 'readyMs', `<= ${MOST_RATIO}x`, ({ ratio }) => ratio <= MOST_RATIO),
  ];
}

type Row = Pick<BenchRow, 'value' | 'peerValue' | 'ratio'>;

function eventRow(delays: readonly number[], peerDelays: readonly number[]): BenchRow {
  const [value, peerValue] = [percentile(delays, 0.95), percentile(peerDelays, 0.95)];
  return {
    ...describe('from an event to the screen'),
    ...{ value, peerValue, ratio: value / peerValue, unit: 'ms p95' },
    target: `< ${MOST_EVENT_MS} ms`,
    met: value < MOST_EVENT_MS,
    details: [
      `${delays.length} events, p50 ${percentile(delays, 0.5)} ms, the latest ${Math.max(...delays)} ms`,
    ],
  };
}

function describe(what: string): Pick<BenchRow, 'name' | 'peer'> {
  const count = (runs: number): string => `${runs.toLocaleString('en-US')} runs`;
  return { name: `dashboard: ${what}, ${count(MANY)}`, peer: `the same page with ${count(FEW)}` };
}

function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? Number.NaN;
}
