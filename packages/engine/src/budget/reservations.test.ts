import { expect, it } from 'vitest';
import type { Books } from './contract.ts';
import { createBudget } from './create-budget.ts';

const COUNTS = { inputTokens: 1000, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
const USAGE = { models: ['claude-sonnet-4-5'], ...COUNTS, turns: 1, toolCalls: 0 };
const EARLIER = { tokens: 1010, turns: 1, toolCalls: 0, costUsd: 0.1 };

/** A host of the project; every host has the same rows. */
function openHost(rows: Map<string, unknown>) {
  const books: Books = {
    spend: () => [],
    stateOf: () => 'open',
    nowMs: () => 0,
    alone: (work) => work(),
    rows: {
      set: (_space, key, value) => void rows.set(key, value),
      delete: (_space, key) => rows.delete(key),
      list: () => [...rows].map(([key, value]) => ({ key, value })),
    },
  };
  const settings = { perSessionUsd: null, perDayUsd: 5, allowUnknownCost: false, shares: 4 };
  return createBudget({ settings, books, today: () => '2026-01-01', onUpdate: () => undefined });
}

it('another host finds what the attempt under way had used, and never what an earlier one was charged', () => {
  const rows = new Map<string, unknown>();
  const [host, finder] = [openHost(rows), openHost(rows)];
  const request = { runId: 'r1', session: null, caps: {}, model: 'claude-sonnet-4-5' };
  expect(host.reserve({ ...request, reportsCost: false, usesModel: true })).toBeNull();
  expect(finder.lastUsage('r1')).toBeUndefined();
  host.follow('r1', USAGE);
  expect(finder.lastUsage('r1')).toEqual(USAGE);
  expect(finder.lastUsage('r1', EARLIER)).toBeUndefined(); // the second attempt had used nothing yet
  host.follow('r1', USAGE, EARLIER);
  expect(finder.lastUsage('r1', EARLIER)).toEqual(USAGE);
  expect(finder.lastUsage('r2')).toBeUndefined();
});
