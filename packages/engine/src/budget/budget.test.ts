import { describe, expect, it } from 'vitest';
import type { Usage } from '@caisson/protocol';
import { createBooks } from './books-stage.ts';
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
    settings: { perSessionUsd: null, perDayUsd: null, allowUnknownCost: false, shares: 4, ...settings },
    books: createBooks(rows, {
      spend: () => spent,
      stateOf: (runId) => (ended.has(runId) ? 'ended' : 'open'),
    }),
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
  runId: 'run',
  costUsd,
  unknownCosts: costUsd === null ? 1 : 0,
  inputTokens: 1,
  outputTokens: 2,
});

describe('the price table', () => {
  it.each([
    ['openai/gpt-5-mini-2026-01-01', 0.25],
    ['claude-sonnet-4-5@20250929', 3],
    ['claude-opus-4-20250514', 15],
    ['anthropic/claude-opus-4-5-20251101', 5],
    ['claude-3-7-sonnet-latest', 3],
    ['gemini-2.5-flash-001', 0.3],
    ['gpt-5-pro', 15],
  ])('knows %s, behind a provider and before a date', (model, input) => {
    expect(findPrice(model)?.input).toBe(input);
  });

  it.each(['some-local-model', 'gpt-5-ultra', 'gpt-5.9', 'claude-sonnet-4-9', 'gpt-5-2', 'o3-pro', ''])(
    'does not take %s for a model whose name it begins with',
    (model) => {
      expect(findPrice(model)).toBeNull();
    },
  );

  it('does not believe a runtime that says 0 for tokens that were used', () => {
    expect(costOf({ ...USAGE, costUsd: 0 })).toBe(3);
    expect(costOf({ ...USAGE, models: ['mystery'], costUsd: 0 })).toBeUndefined();
    expect(costOf({ ...USAGE, inputTokens: 0, models: ['mystery'], costUsd: 0 })).toBe(0);
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
    expect(open().budget.reserve({ ...request, reportsCost: true })?.kind).toBe('budget');
    expect(open().budget.reserve({ ...request, reportsCost: true, model: '' })).toBeNull();
    expect(open().budget.reserve({ ...request, usesModel: false })).toBeNull();
  });

  it('refuses a run that may spend nothing', () => {
    for (const caps of [{ usd: 0 }, { tokens: 0 }, { turns: 0 }])
      expect(open().budget.reserve(ask('r1', { caps }))?.detail).toMatch(/cap of 0/);
    expect(open().budget.reserve(ask('r1', { caps: { toolCalls: 0 } }))).toBeNull();
    expect(open().budget.reserve(ask('r1', { caps: { usd: 0 }, usesModel: false }))).toBeNull();
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

  it('counts what earlier attempts of the run used', () => {
    const earlier = { tokens: 10, turns: 2, toolCalls: 2, costUsd: 1 };
    const stop = (caps: BudgetRequest['caps']) => {
      const { budget } = open();
      budget.reserve(ask('r1', { caps }));
      return budget.follow('r1', { ...USAGE, turns: 1, toolCalls: 1 }, earlier)?.detail;
    };
    expect(stop({ usd: 3.5 })).toMatch(/\$4.0000 spent, the cap is \$3.5/);
    expect(stop({ tokens: 1_000_009 })).toMatch(/1000010 tokens used/);
    expect(stop({ turns: 2 })).toMatch(/3 turns used/);
    expect(stop({ toolCalls: 2 })).toMatch(/3 tool calls used/);
    expect(stop({ usd: 4, tokens: 1_000_010, turns: 3, toolCalls: 3 })).toBeUndefined();
  });

  it('keeps a share of what is left of the day for a run without a cap of its own', () => {
    const { budget } = open({ perDayUsd: 8 });
    expect(budget.reserve(ask('r1'))).toBeNull();
    expect(budget.standings()[0]?.reservedUsd).toBe(2);
    expect(budget.reserve(ask('r2'))).toBeNull();
    expect(budget.standings()[0]?.reservedUsd).toBe(3.5);
    expect(budget.reserve(ask('c', { usesModel: false }))).toBeNull();
    expect(budget.standings()[0]?.reservedUsd).toBe(3.5);
  });

  it('lets runs without their own cap spend together what is left, and stops the one that passes it', () => {
    const { budget } = open({ perDayUsd: 5 });
    budget.reserve(ask('r1'));
    budget.reserve(ask('r2'));
    expect(budget.follow('r1', USAGE)).toBeNull(); // more than its share, and not what r2 might have spent
    expect(budget.reserve(ask('r3'))).toBeNull();
    expect(budget.follow('r2', USAGE)?.detail).toMatch(/\$6.0000 in day/);
    expect(budget.reserve(ask('r4'))?.detail).toMatch(/used up/);
  });

  it('keeps what a cap promises to one run from all others', () => {
    const { budget } = open({ perDayUsd: 5 });
    budget.reserve(ask('r1', { caps: { usd: 3 } }));
    budget.reserve(ask('r2'));
    expect(budget.follow('r2', USAGE)?.detail).toMatch(/\$6.0000 in day/);
  });

  it('stops a run when another one has spent what was left of the day by now', () => {
    const { budget } = open({ perDayUsd: 5 });
    budget.reserve(ask('r1', { caps: { usd: 1 } }));
    budget.reserve(ask('r2'));
    budget.follow('r1', USAGE);
    expect(budget.follow('r2', USAGE)?.detail).toMatch(/\$6.0000 in day/);
  });

  it.each([
    [{ perDayTokens: 1_000_000 }, /1000003 tokens in day/, /1000003 of 1000000 tokens/],
    [{ perSessionTurns: 4 }, /5 turns in session s/, /5 of 4 turns/],
    [{ perDayToolCalls: 4 }, /5 tool calls in day/, /5 of 4 tool calls/],
  ])('holds %j over all runs of the scope, ended and running', (settings, stopped, refused) => {
    const { budget } = open(settings, [{ ...spentRow(0), turns: 1, toolCalls: 1 }]);
    budget.reserve(ask('r1', { session: 's' }));
    const first = { ...USAGE, inputTokens: 500_000, turns: 2, toolCalls: 2 };
    expect(budget.follow('r1', first)).toBeNull();
    expect(budget.reserve(ask('r2', { session: 's' }))).toBeNull();
    expect(budget.follow('r2', first)?.detail).toMatch(stopped);
    expect(budget.reserve(ask('r3', { session: 's' }))?.detail).toMatch(refused);
  });

  it('counts what a child spends against the run that dispatched it, running and ended', () => {
    const { budget, ended } = open({ perDayUsd: 100 });
    budget.reserve(ask('up', { caps: { usd: 5 } }));
    expect(budget.reserve(ask('kid', { caps: { usd: 5 }, parent: 'up' }))).toBeNull();
    expect(budget.follow('kid', USAGE)).toBeNull();
    expect(budget.follow('up', USAGE)?.detail).toMatch(/\$6.0000 spent by up and what it dispatched/);
    ended.add('kid');
    budget.settle('kid', USAGE);
    expect(budget.reserve(ask('kid2', { caps: { usd: 5 }, parent: 'up' }))?.detail).toMatch(
      /budget of up, which dispatches it, is used up/,
    );
  });

  it('lets a child of a run that holds the whole day start', () => {
    const { budget } = open({ perDayUsd: 5 });
    budget.reserve(ask('up', { caps: { usd: 5 } }));
    expect(budget.reserve(ask('kid', { parent: 'up' }))).toBeNull();
    expect(budget.reserve(ask('other'))?.kind).toBe('budget');
    expect(budget.follow('up', USAGE)).toBeNull();
    expect(budget.follow('kid', USAGE)?.detail).toMatch(/\$6.0000 spent by up/);
  });

  it('goes by the price of the requested model while the served one has none', () => {
    const { budget } = open();
    budget.reserve(ask('r1', { caps: { usd: 1 } }));
    expect(budget.follow('r1', { ...USAGE, models: ['renamed'] })?.detail).toMatch(/\$3.0000 spent/);
  });

  it.each([
    ['a cap of its own', { perDayUsd: null }, { usd: 1 }],
    ['a cap of its day', { perDayUsd: 1 }, {}],
    ['a cap of its session', { perSessionUsd: 1 }, {}],
  ])('stops a run whose own choice of a model has no price, under %s', (_cap, settings, caps) => {
    const request = ask('r1', { model: '', reportsCost: true, session: 's', caps });
    const mystery = { ...USAGE, models: ['claude-haiku-4-5', 'mystery'] };
    const { budget } = open(settings);
    expect(budget.reserve(request)).toBeNull();
    expect(budget.follow('r1', { ...mystery, inputTokens: 0 })).toBeNull(); // nothing was answered yet
    expect(budget.follow('r1', mystery)?.detail).toMatch(/^the price of mystery is unknown.*--model/);
    const allowing = open({ ...settings, allowUnknownCost: true }).budget;
    allowing.reserve(request);
    expect(allowing.follow('r1', mystery)).toBeNull();
  });

  it('stops a run of unknown price under the cap of the run that dispatched it, and none without a cap', () => {
    const { budget } = open();
    const mystery = { ...USAGE, models: [] };
    budget.reserve(ask('up', { caps: { usd: 5 } }));
    budget.reserve(ask('kid', { model: '', reportsCost: true, parent: 'up' }));
    expect(budget.follow('kid', mystery)?.detail).toMatch(/price of the model that answered is unknown/);
    budget.reserve(ask('free', { model: '', reportsCost: true, caps: { tokens: 9_000_000 } }));
    expect(budget.follow('free', mystery)).toBeNull();
  });

  it('reads no records and reports nothing for a run that had nothing to spend', () => {
    const { budget, updates } = open({}, [spentRow(2)]);
    expect(budget.reserve(ask('r1', { usesModel: false }))).toBe(null);
    budget.settle('r1', undefined);
    expect(updates).toEqual([]);
    budget.settle('r2', USAGE);
    expect(updates).toMatchObject([{ scope: 'day', spentUsd: 2 }]);
  });

  it('reports its state when a run is settled, unknown costs separately', () => {
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
        estimatedCosts: 0,
        runCount: 2,
        tokensIn: 2,
        tokensOut: 4,
      },
    ]);
  });
});
