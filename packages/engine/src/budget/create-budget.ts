import type { BudgetCaps, Usage } from '@caisson/protocol';
import type { Budget, BudgetOptions, BudgetRefusal, BudgetRequest, BudgetStanding } from './contract.ts';
import { costOf, findPrice } from './price-table.ts';
import { listReservations, removeReservation, writeReservation, type Reservation } from './reservations.ts';

export function createBudget(options: BudgetOptions): Budget {
  const active = new Map<string, { caps: BudgetCaps; session: string | null; model: string }>();
  const { settings, books } = options;

  const standing = (scope: 'session' | 'day', scopeId: string): BudgetStanding => {
    const rows = books.spend(scope === 'session' ? { session: scopeId } : { day: scopeId });
    const reservations = listReservations(books).filter(
      (held) => (scope === 'session' ? held.session : held.day) === scopeId,
    );
    return {
      scope,
      scopeId,
      spentUsd: sum(rows.map((row) => row.costUsd ?? 0)),
      reservedUsd: sum(reservations.map((held) => held.usd)),
      ceilingUsd: scope === 'session' ? settings.perSessionUsd : settings.perDayUsd,
      unknownCosts: sum(rows.map((row) => row.unknownCosts)),
      runCount: rows.length,
      tokensIn: sum(rows.map((row) => row.inputTokens)),
      tokensOut: sum(rows.map((row) => row.outputTokens)),
    };
  };
  const scopesOf = (session: string | null): BudgetStanding[] => [
    ...(session === null ? [] : [standing('session', session)]),
    standing('day', options.today()),
  ];

  return {
    reserve(request) {
      const scopes = scopesOf(request.session).filter((scope) => scope.ceilingUsd !== null);
      const unknown = refuseUnknownCost(request, scopes, settings.allowUnknownCost);
      if (unknown !== null) return unknown;
      const spent = scopes.find((scope) => roomOf(scope) <= 0);
      if (spent !== undefined) return refuseSpent(spent);
      const usd = Math.min(request.caps.usd ?? 0, ...scopes.map(roomOf));
      active.set(request.runId, { caps: request.caps, session: request.session, model: request.model });
      if (usd > 0)
        writeReservation(books, {
          runId: request.runId,
          usd,
          session: request.session,
          day: options.today(),
        } satisfies Reservation);
      return null;
    },
    follow(runId, usage) {
      const run = active.get(runId);
      if (run === undefined) return null;
      const costUsd = costOf(usage, run.model);
      return (
        findPassedCap(run.caps, usage, costUsd) ??
        findPassedScope(scopesOf(run.session), runId, listReservations(books), costUsd)
      );
    },
    cost: costOf,
    settle(runId) {
      const run = active.get(runId);
      active.delete(runId);
      removeReservation(books, runId);
      for (const scope of scopesOf(run?.session ?? null)) options.onUpdate(scope);
    },
    standings: (session) => scopesOf(session ?? null),
  };
}

/** B3 */
function refuseUnknownCost(
  request: BudgetRequest,
  scopes: readonly BudgetStanding[],
  isAllowed: boolean,
): BudgetRefusal | null {
  const hasMoneyCap = request.caps.usd !== undefined || scopes.length > 0;
  if (!hasMoneyCap || isAllowed || !request.usesModel || request.reportsCost) return null;
  if (request.model !== '' && findPrice(request.model) !== null) return null;
  return {
    kind: 'budget',
    detail:
      request.model === ''
        ? 'a money cap is set, and no model is named whose price is known'
        : `a money cap is set, and the price of ${request.model} is unknown`,
    remedy:
      'Name a model with a known price, cap tokens instead (--max-tokens), or set budget.allowUnknownCost.',
  };
}

function refuseSpent(scope: BudgetStanding): BudgetRefusal {
  const what = scope.scope === 'day' ? `today (${scope.scopeId})` : `session ${scope.scopeId}`;
  const reserved = scope.reservedUsd > 0 ? `, ${scope.reservedUsd.toFixed(2)} reserved` : '';
  return {
    kind: 'budget',
    detail: `the budget of ${what} is used up: ${scope.spentUsd.toFixed(2)} of ${(scope.ceilingUsd ?? 0).toFixed(2)} USD spent${reserved}`,
    remedy: `Raise budget.${scope.scope === 'day' ? 'perDayUsd' : 'perSessionUsd'}, or wait.`,
  };
}

function roomOf(scope: BudgetStanding): number {
  return scope.ceilingUsd === null ? Infinity : scope.ceilingUsd - scope.spentUsd - scope.reservedUsd;
}

function findPassedCap(
  caps: BudgetCaps,
  usage: Usage,
  costUsd: number | undefined,
): { detail: string } | null {
  const tokens = usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const counted: [string, number | undefined, number | undefined][] = [
    ['tokens', caps.tokens, tokens],
    ['turns', caps.turns, usage.turns],
    ['tool calls', caps.toolCalls, usage.toolCalls],
  ];
  for (const [name, cap, used] of counted) {
    if (cap !== undefined && used !== undefined && used > cap)
      return { detail: `${used} ${name} used, the cap is ${cap}` };
  }
  if (caps.usd === undefined || costUsd === undefined || costUsd <= caps.usd) return null;
  return { detail: `$${costUsd.toFixed(4)} spent, the cap is $${caps.usd}` };
}

/** What others have spent and reserved counts too; our own reservation does not count twice. */
function findPassedScope(
  scopes: readonly BudgetStanding[],
  runId: string,
  reservations: readonly Reservation[],
  costUsd: number | undefined,
): { detail: string } | null {
  if (costUsd === undefined) return null;
  const own = reservations.find((held) => held.runId === runId)?.usd ?? 0;
  for (const scope of scopes) {
    if (scope.ceilingUsd === null) continue;
    const total = scope.spentUsd + costUsd + Math.max(0, scope.reservedUsd - own);
    if (total > scope.ceilingUsd)
      return {
        detail: `$${total.toFixed(4)} in ${scope.scope} ${scope.scopeId}, the cap is $${scope.ceilingUsd}`,
      };
  }
  return null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
