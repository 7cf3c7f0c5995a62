import { expect, test } from 'vitest';
import type { SpendRow } from '../api/answers.ts';
import { agentOf, byCost, groupSpend, modelsOf } from './group-spend.ts';

const row = (session: string, costUsd: number | null, more: Partial<SpendRow> = {}): SpendRow => ({
  ...{ runId: 'r', session, day: '2026-01-01', costUsd, unknownCosts: costUsd === null ? 1 : 0, tokens: 10 },
  ...more,
});

test('what is unknown is counted and never 0', () => {
  const sums = groupSpend(
    [row('a', null), row('b', 1), row('b', null), row('b', 0.5)],
    ({ session }) => session ?? '',
  );
  expect(
    sums.toSorted(byCost).map(({ name, costUsd, unknownCosts, runs }) => [name, costUsd, unknownCosts, runs]),
  ).toEqual([
    ['b', 1.5, 1, 3],
    ['a', null, 1, 1],
  ]);
});

test('a run without a known model is under unknown', () => {
  expect([modelsOf(row('a', 1)), modelsOf(row('a', 1, { models: ['x', 'y'] }))]).toEqual([
    'unknown',
    'x + y',
  ]);
});

test('a run is named by its agent, else by its runtime', () => {
  const runtime = { runtime: 'codex' };
  expect(
    [row('a', 1, { agent: 'fixer', ...runtime }), row('a', 1, runtime), row('a', 1)].map(agentOf),
  ).toEqual([...['fixer', 'codex', 'unknown']]);
});
