import { expect, it } from 'vitest';
import { createBooks } from './books-stage.ts';
import { createBudget } from './create-budget.ts';

const COUNTS = { inputTokens: 1000, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
const USAGE = { models: ['claude-sonnet-4-5'], ...COUNTS, turns: 1, toolCalls: 0 };
const EARLIER = { tokens: 1010, turns: 1, toolCalls: 0, costUsd: 0.1 };

const REQUEST = {
  runId: 'r1',
  session: null,
  caps: {},
  model: 'claude-sonnet-4-5',
  reportsCost: false,
  usesModel: true,
};

/** A host of the project; every host has the same rows. */
function openHost(rows: Map<string, unknown>, today = () => '2026-01-01') {
  const books = createBooks(rows);
  const caps = { perSessionUsd: null, perDayUsd: 5, perDayTurns: 3 };
  const settings = { ...caps, allowUnknownCost: false, shares: 4 };
  return createBudget({ settings, books, today, onUpdate: () => undefined });
}

it('another host finds what the attempt under way had used, and never what an earlier one was charged', () => {
  const rows = new Map<string, unknown>();
  const [host, finder] = [openHost(rows), openHost(rows)];
  expect(host.reserve(REQUEST)).toBeNull();
  expect(finder.lastUsage('r1')).toBeUndefined();
  host.follow('r1', USAGE);
  expect(finder.lastUsage('r1')).toEqual(USAGE);
  expect(finder.lastUsage('r1', EARLIER)).toBeUndefined(); // the second attempt had used nothing yet
  host.follow('r1', USAGE, EARLIER);
  expect(finder.lastUsage('r1', EARLIER)).toEqual(USAGE);
  expect(finder.lastUsage('r2')).toBeUndefined();
});

it('a run that works past midnight is held by the new day, on which it will be charged', () => {
  let day = '2026-01-01';
  const host = openHost(new Map(), () => day);
  expect(host.reserve(REQUEST)).toBeNull();
  day = '2026-01-02';
  expect(host.follow('r1', { ...USAGE, turns: 4 })?.detail).toBe('4 turns in day 2026-01-02, the cap is 3');
  expect(host.follow('r1', { ...USAGE, inputTokens: 2_000_000 })?.detail).toMatch(/\$6.* in day 2026-01-02/);
  expect(host.reserve({ ...REQUEST, runId: 'r2' })?.detail).toMatch(/used up/);
});

it('what a run has used is compared with the spending of a whole day only where the day has a cap', () => {
  const reads: unknown[] = [];
  const spend = (filter: unknown): [] => {
    reads.push(filter);
    return [];
  };
  const open = (perDayUsd: number | null) =>
    createBudget({
      settings: { perSessionUsd: 5, perDayUsd, allowUnknownCost: false, shares: 4 },
      books: createBooks(new Map(), { spend }),
      today: () => '2026-01-01',
      onUpdate: () => undefined,
    });
  const [free, capped] = [open(null), open(5)];
  free.reserve(REQUEST);
  free.follow('r1', USAGE);
  expect(reads).toEqual([]);
  capped.reserve(REQUEST);
  capped.follow('r1', USAGE);
  expect(reads).toContainEqual({ day: '2026-01-01' });
});
