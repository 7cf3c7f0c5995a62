import type { Usage } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { costOf } from '../budget/index.ts';
import type { ObservedUsage } from '../network/index.ts';
import { countUsage, type UsageSources } from './count-usage.ts';

const COUNTS = { inputTokens: 1_000_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
const TOLD: Usage = { models: ['claude-sonnet-4-5'], ...COUNTS, turns: 3, toolCalls: 2 };
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
  toolCalls: 2,
  openTool: null,
  modelMs: 900,
  byModel: [{ model: 'gpt-5', ...COUNTS }],
  ...more,
});
const count = (more: Partial<UsageSources>): Usage | undefined =>
  countUsage({ told: undefined, turns: 3, toolCalls: 2, seen: null, tellsOnce: false, ...more }, costOf);

it('uses what the answers reported where the agent reported nothing', () => {
  const counted = { models: ['gpt-5'], ...COUNTS, costUsd: 1.25, toolCalls: 2, durationMs: 900 };
  expect(count({ seen: seen() })).toEqual({ ...counted, turns: 3 });
  expect(count({ seen: seen(), tellsOnce: true })).toEqual({ ...counted, turns: 4 });
});

it('returns unknown, not 0, when a model may have answered without a report of its usage', () => {
  expect(count({ seen: seen({ answers: 0, underWay: 1, byModel: [] }) })).toBeUndefined();
  const silent = seen({ answers: 2, underWay: 2, byModel: [] });
  expect(count({ told: { ...TOLD, inputTokens: 0 }, seen: silent })).toBeUndefined();
  expect(count({})).toBeUndefined();
});

it('says 0 when no model has answered', () => {
  expect(count({ seen: seen({ answers: 0, byModel: [] }) })).toMatchObject({ inputTokens: 0 });
});

it('takes the larger of the two, every model at its own price', () => {
  expect(count({ told: TOLD, seen: seen() })).toEqual({ ...TOLD, durationMs: 900 });
  const both = seen({ byModel: [...seen().byModel, { model: 'claude-haiku-4-5', ...COUNTS }] });
  expect(count({ told: { ...TOLD, costUsd: 1 }, seen: both })).toMatchObject({
    models: ['gpt-5', 'claude-haiku-4-5'],
    inputTokens: 2_000_000,
    costUsd: 2.25,
  });
});

it("uses what the answers reported, not an agent's own sum, where all of them reported it", () => {
  const told = { ...TOLD, inputTokens: 5_000_000, costUsd: 7 }; // the sum of a session, or the cache counted twice
  expect(count({ told, seen: seen({ isWhole: true }) })).toMatchObject({
    models: ['gpt-5'],
    inputTokens: 1_000_000,
    costUsd: 7,
    turns: 3,
  });
  expect(count({ told, seen: seen({ underWay: 1 }) })).toMatchObject({ inputTokens: 5_000_000 });
});

const ESTIMATED = { answers: 1, inputTokens: 1_000_000, outputTokens: 0 };

it('marks what is estimated, and charges it', () => {
  expect(count({ seen: seen({ estimated: ESTIMATED }) })).toMatchObject({
    inputTokens: 1_000_000,
    costUsd: 1.25,
    estimated: ESTIMATED,
  });
  const more = { ...TOLD, inputTokens: 2_000_000 };
  expect(count({ told: more, seen: seen({ estimated: ESTIMATED }) })).toMatchObject({
    inputTokens: 2_000_000,
    estimated: ESTIMATED,
  });
});

it('never says that tokens cost 0, also when the agent does and their price is not known', () => {
  const nameless = seen({ byModel: [{ model: 'a-model-of-ours', ...COUNTS }], estimated: ESTIMATED });
  for (const told of [undefined, { ...TOLD, inputTokens: 0, costUsd: 0 }, { ...TOLD, costUsd: 0 }])
    expect(count({ told, seen: nameless })).not.toHaveProperty('costUsd');
  expect(count({ told: { ...TOLD, costUsd: 0 } })).not.toHaveProperty('costUsd');
});
