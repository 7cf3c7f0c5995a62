/** Caps on tokens, turns and tool calls of a session or a day: what has ended, and what runs have used so far. */
import type { Usage } from '@caisson/protocol';
import type { BudgetRefusal, BudgetSettings, BudgetStanding, EarlierUse, SpentRow } from './contract.ts';
import { tokensOf } from './price-table.ts';
import { sum, type Counts, type Reservation } from './reservations.ts';

const COUNTED = ['tokens', 'turns', 'toolCalls'] as const;
const WORDS = { tokens: 'tokens', turns: 'turns', toolCalls: 'tool calls' } as const;
const SETTINGS = {
  session: { tokens: 'perSessionTokens', turns: 'perSessionTurns', toolCalls: 'perSessionToolCalls' },
  day: { tokens: 'perDayTokens', turns: 'perDayTurns', toolCalls: 'perDayToolCalls' },
} as const;

export interface CountedScope {
  readonly scope: 'session' | 'day';
  readonly scopeId: string;
  readonly spent: readonly SpentRow[];
  /** Only those of the scope. */
  readonly held: readonly Reservation[];
}

/** The caps on counts that a scope has, and what is used of each. */
export function countCapsOf(
  settings: BudgetSettings,
  scope: CountedScope,
): Pick<BudgetStanding, 'countCaps' | 'countsUsed'> {
  const caps = COUNTED.map((counted) => [counted, settings[SETTINGS[scope.scope][counted]]] as const).filter(
    ([, cap]) => cap != null,
  );
  if (caps.length === 0) return {};
  const used = caps.map(([counted]) => [counted, usedOf(scope, counted)] as const);
  return { countCaps: Object.fromEntries(caps), countsUsed: Object.fromEntries(used) };
}

export function hasCountCaps(settings: BudgetSettings): boolean {
  return Object.values(SETTINGS).some((names) => COUNTED.some((counted) => settings[names[counted]] != null));
}

/** A run may start while anything is left. */
export function refuseCounted(
  settings: BudgetSettings,
  scopes: readonly CountedScope[],
): BudgetRefusal | null {
  for (const scope of scopes) {
    for (const counted of COUNTED) {
      const name = SETTINGS[scope.scope][counted];
      const cap = settings[name];
      const used = usedOf(scope, counted);
      if (cap == null || used < cap) continue;
      const what = scope.scope === 'day' ? `today (${scope.scopeId})` : `session ${scope.scopeId}`;
      return {
        kind: 'budget',
        detail: `the budget of ${what} is used up: ${used} of ${cap} ${WORDS[counted]}`,
        remedy: `Raise budget.${name}, or wait.`,
      };
    }
  }
  return null;
}

/** The run's own row must be up to date. Its earlier attempts are in it and in the ledger. */
export function findPassedScopeCount(
  settings: BudgetSettings,
  scopes: readonly CountedScope[],
  earlier: EarlierUse,
): { detail: string } | null {
  for (const scope of scopes) {
    for (const counted of COUNTED) {
      const cap = settings[SETTINGS[scope.scope][counted]];
      const used = usedOf(scope, counted) - earlier[counted];
      if (cap != null && used > cap)
        return { detail: `${used} ${WORDS[counted]} in ${scope.scope} ${scope.scopeId}, the cap is ${cap}` };
    }
  }
  return null;
}

export function countsOf(usage: Usage, earlier: EarlierUse): Counts {
  return {
    tokens: earlier.tokens + tokensOf(usage),
    turns: earlier.turns + (usage.turns ?? 0),
    toolCalls: earlier.toolCalls + (usage.toolCalls ?? 0),
  };
}

function usedOf({ spent, held }: CountedScope, counted: keyof Counts): number {
  const ended = spent.map((row) =>
    counted === 'tokens' ? row.inputTokens + row.outputTokens + (row.cacheTokens ?? 0) : (row[counted] ?? 0),
  );
  return sum(ended) + sum(held.map((row) => row.counts[counted]));
}
