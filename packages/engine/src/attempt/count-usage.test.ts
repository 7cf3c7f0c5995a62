import type { ObservedUsage, Usage } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { costOf } from '../budget/index.ts';
import { countLeftUsage, countUsage, withPending, type UsageSources } from './count-usage.ts';

const COUNTS = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const REPORTED: Usage = { models: ['claude-sonnet-4-5'], ...COUNTS, turns: 3, toolCalls: 2 };
const seen = (more: Partial<ObservedUsage> = {}): ObservedUsage => ({
  answers: 4,
  underWay: 0,
  estimated: { answers: 0, inputTokens: 0, outputTokens: 0 },
  isWhole: false,
  refusals: 0,
  lastStop: null,
  lastFailure: null,
  hasAnswered: true,
  failedInRow: 0,
  unreachedMs: 0,
  toolCalls: 2,
  openTool: null,
  modelMs: 900,
  byModel: [{ model: 'gpt-5', ...COUNTS }],
  pending: [],
  ...more,
});
const count = (more: Partial<UsageSources>): Usage | undefined =>
  countUsage(
    { reported: undefined, turns: 3, toolCalls: 2, seen: null, reportsOnce: false, ...more },
    costOf,
  );

it('uses what the answers reported where the agent reported nothing', () => {
  const counted = { models: ['gpt-5'], ...COUNTS, costUsd: 1.25, toolCalls: 2, durationMs: 900 };
  expect(count({ seen: seen() })).toEqual({ ...counted, turns: 3 });
  expect(count({ seen: seen(), reportsOnce: true })).toEqual({ ...counted, turns: 4 });
});

it('returns unknown, not 0, when a model may have answered without a report of its usage', () => {
  expect(count({ seen: seen({ answers: 0, underWay: 1, byModel: [] }) })).toBeUndefined();
  const silent = seen({ answers: 2, underWay: 2, byModel: [] });
  expect(count({ reported: { ...REPORTED, inputTokens: 0 }, seen: silent })).toBeUndefined();
  expect(count({})).toBeUndefined();
});

it('says 0 when no model has answered', () => {
  expect(count({ seen: seen({ answers: 0, byModel: [] }) })).toMatchObject({ inputTokens: 0 });
});

it('takes the larger of the two, every model at its own price', () => {
  expect(count({ reported: REPORTED, seen: seen() })).toEqual({ ...REPORTED, durationMs: 900 });
  const both = seen({ byModel: [...seen().byModel, { model: 'claude-haiku-4-5', ...COUNTS }] });
  expect(count({ reported: { ...REPORTED, costUsd: 1 }, seen: both })).toMatchObject({
    models: ['gpt-5', 'claude-haiku-4-5'],
    inputTokens: 2_000_000,
    costUsd: 2.25,
  });
});

it("uses what the answers reported, not an agent's own sum, where all of them reported it", () => {
  const reported = { ...REPORTED, inputTokens: 5_000_000, costUsd: 7 }; // the sum of a session, or the cache counted twice
  expect(count({ reported, seen: seen({ isWhole: true }) })).toMatchObject({
    models: ['gpt-5'],
    inputTokens: 1_000_000,
    costUsd: 7,
    turns: 3,
  });
  expect(count({ reported, seen: seen({ underWay: 1 }) })).toMatchObject({ inputTokens: 5_000_000 });
});

const ESTIMATED = { answers: 1, inputTokens: 1_000_000, outputTokens: 0 };

it('marks what is estimated, and charges it', () => {
  expect(count({ seen: seen({ estimated: ESTIMATED }) })).toMatchObject({
    inputTokens: 1_000_000,
    costUsd: 1.25,
    estimated: ESTIMATED,
  });
  const more = { ...REPORTED, inputTokens: 2_000_000 };
  expect(count({ reported: more, seen: seen({ estimated: ESTIMATED }) })).toMatchObject({
    inputTokens: 2_000_000,
    estimated: ESTIMATED,
  });
});

it('charges what was under way when a worker was killed, by its estimate', () => {
  const pending = [
    { model: 'gpt-5', inputTokens: 500_000, outputTokens: 0 },
    { model: 'claude-haiku-4-5', inputTokens: 1_000_000, outputTokens: 0 },
  ];
  const killed = withPending(seen({ underWay: 2, pending }));
  expect(count({ seen: killed })).toMatchObject({
    models: ['gpt-5', 'claude-haiku-4-5'],
    inputTokens: 2_500_000,
    costUsd: 2.875,
    estimated: { answers: 2, inputTokens: 1_500_000, outputTokens: 0 },
  });
});

it('never says that tokens cost 0, also when the agent does and their price is not known', () => {
  const nameless = seen({ byModel: [{ model: 'a-model-of-ours', ...COUNTS }], estimated: ESTIMATED });
  for (const reported of [
    undefined,
    { ...REPORTED, inputTokens: 0, costUsd: 0 },
    { ...REPORTED, costUsd: 0 },
  ])
    expect(count({ reported, seen: nameless })).not.toHaveProperty('costUsd');
  expect(count({ reported: { ...REPORTED, costUsd: 0 } })).not.toHaveProperty('costUsd');
});

it("charges a lost run with no less than the host had counted, whatever the agent's last line says", () => {
  const rooms = {
    ledger: { read: () => [] },
    budget: { cost: costOf, lastUsage: () => REPORTED },
  } as unknown as Parameters<typeof countLeftUsage>[0];
  const left = (inputTokens: number): Usage | undefined => {
    const reported = { ...REPORTED, inputTokens };
    return countLeftUsage(rooms, 'run_a', { seen: null, turns: 3, toolCalls: 2, reported }, undefined);
  };
  expect(left(10)).toEqual(REPORTED);
  expect(left(2_000_000)).toEqual({ ...REPORTED, inputTokens: 2_000_000 });
});
