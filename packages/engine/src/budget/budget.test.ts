import { describe, expect, it } from 'vitest';
import type { Usage } from '@caisson/protocol';
import type { BudgetRequest, BudgetSettings, BudgetStanding, SpentRow } from './contract.ts';
import { costOf, createBudget, findPrice } from './index.ts';

const USAGE: Usage = {
  models: ['claude-sonnet-4-5'],
  inputTokens: 1_000_000,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

function open(settings: Partial<BudgetSettings> = {}, spent: SpentRow[] = []) {
  const rows = new Map<string, unknown>();
  const ended = new Set<string>();
  const updates: BudgetStanding[] = [];
  const budget = createBudget({
    settings: { perSessionUsd: null, perDayUsd: null, allowUnknownCost: false, ...settings },
    books: {
      spend: () => spent,
      hasEnded: (runId) => ended.has(runId),
      rows: {
        set: (_space, key, value) => void rows.set(key, value),
        delete: (_space, key) => rows.delete(key),
        list: () => [...rows].map(([key, value]) => ({ key, value })),
      },
    },
    today: () => '2026-11-15',
    onUpdate: (standing) => updates.push(standing),
  });
  return { budget, updates, ended };
}

const ask = (runId: string, more: Partial<BudgetRequest> = {}): BudgetRequest => ({
  runId,
  session: null,
  caps: {},
  model: 'claude-sonnet-4-5',
  reportsCost: false,
  usesModel: true,
  ...more,
});
const spentRow = (costUsd: number | null): SpentRow => ({
  costUsd,
  unknownCosts: costUsd === null ? 1 : 0,
  inputTokens: 1,
  outputTokens: 2,
});

describe('the price table', () => {
  it('finds the longest fitting entry, also behind a provider prefix and before a date', () => {
    expect(findPrice('openai/gpt-5-mini-2026-01-01')?.match).toBe('gpt-5-mini');
    expect(findPrice('some-local-model')).toBeNull();
  });

  it('believes the runtime first, then the table, and says unknown otherwise', () => {
    expect(costOf({ ...USAGE, costUsd: 0.5 })).toBe(0.5);
    expect(costOf(USAGE)).toBe(3);
    expect(costOf({ ...USAGE, models: ['mystery'] })).toBeUndefined();
    expect(costOf({ ...USAGE, models: [] }, 'gpt-5')).toBe(1.25);
  });

  it('charges the dearest model when several served and the tokens are not split', () => {
    expect(costOf({ ...USAGE, models: ['claude-haiku-4-5', 'claude-sonnet-4-5'] })).toBe(3);
  });
});

describe('a budget', () => {
  it('refuses a model of unknown price under a money cap, unless that is allowed', () => {
    const request = ask('r1', { model: 'mystery', caps: { usd: 1 } });
    expect(open().budget.reserve(request)?.detail).toMatch(/price of mystery is unknown/);
    expect(open({ allowUnknownCost: true }).budget.reserve(request)).toBeNull();
    expect(open().budget.reserve({ ...request, reportsCost: true })).toBeNull();
    expect(open().budget.reserve({ ...request, usesModel: false })).toBeNull();
  });

  it('refuses a run when the day is spent', () => {
    const { budget } = open({ perDayUsd: 5 }, [spentRow(5)]);
    expect(budget.reserve(ask('r1'))?.detail).toMatch(/budget of today .* used up: 5.00 of 5.00/);
  });

  it('counts what other runs have reserved, until they have ended', () => {
    const { budget, ended } = open({ perDayUsd: 5 });
    expect(budget.reserve(ask('r1', { caps: { usd: 5 } }))).toBeNull();
    expect(budget.reserve(ask('r2', { caps: { usd: 1 } }))?.kind).toBe('budget');
    ended.add('r1');
    expect(budget.reserve(ask('r2', { caps: { usd: 1 } }))).toBeNull();
  });

  it.each([
    [{ usd: 2 }, /\$3.0000 spent, the cap is \$2/],
    [{ tokens: 999_999 }, /1000000 tokens used/],
    [{ turns: 3 }, /4 turns used/],
    [{ toolCalls: 1 }, /2 tool calls used/],
  ])('stops a running run that passes %j', (caps, detail) => {
    const { budget } = open();
    budget.reserve(ask('r1', { caps }));
    expect(budget.follow('r1', { ...USAGE, turns: 4, toolCalls: 2 })?.detail).toMatch(detail);
  });

  it('stops a run that takes its session over the cap together with what was spent before', () => {
    const { budget } = open({ perSessionUsd: 4 }, [spentRow(2)]);
    expect(budget.reserve(ask('r1', { session: 's' }))).toBeNull();
    expect(budget.follow('r1', USAGE)?.detail).toMatch(/session s, the cap is \$4/);
  });

  it('tells where it stands when a run is settled, unknown costs apart', () => {
    const { budget, updates } = open({ perDayUsd: 9 }, [spentRow(2), spentRow(null)]);
    budget.reserve(ask('r1', { caps: { usd: 1 } }));
    budget.settle('r1', USAGE);
    expect(updates).toEqual([
      {
        scope: 'day',
        scopeId: '2026-11-15',
        spentUsd: 2,
        reservedUsd: 0,
        ceilingUsd: 9,
        unknownCosts: 1,
        runCount: 2,
        tokensIn: 2,
        tokensOut: 4,
      },
    ]);
  });
});
