import type { BudgetCaps, Usage } from '@caisson/protocol';
import type {
  Books,
  Budget,
  BudgetOptions,
  BudgetRefusal,
  BudgetRequest,
  BudgetStanding,
  EarlierUse,
} from './contract.ts';
import { costOf, findPrice, tokensOf } from './price-table.ts';
import {
  closeReservation,
  familyUsd,
  lineOf,
  listReservations,
  promisedUsd,
  sum,
  sweepReservations,
  writeReservation,
  type Reservation,
} from './reservations.ts';

export function createBudget(options: BudgetOptions): Budget {
  const active = new Map<string, { caps: BudgetCaps; session: string | null; model: string }>();
  const { settings, books } = options;

  const standing = (scope: 'session' | 'day', scopeId: string, viewer: string | null): BudgetStanding => {
    const rows = books.spend(scope === 'session' ? { session: scopeId } : { day: scopeId });
    const held = listReservations(books).filter(
      (row) => (scope === 'session' ? row.session : row.day) === scopeId,
    );
    return {
      scope,
      scopeId,
      spentUsd: sum(rows.map((row) => row.costUsd ?? 0)),
      reservedUsd: promisedUsd(held, viewer),
      ceilingUsd: scope === 'session' ? settings.perSessionUsd : settings.perDayUsd,
      unknownCosts: sum(rows.map((row) => row.unknownCosts)),
      runCount: rows.length,
      tokensIn: sum(rows.map((row) => row.inputTokens)),
      tokensOut: sum(rows.map((row) => row.outputTokens)),
    };
  };
  const scopesOf = (session: string | null, viewer: string | null = null): BudgetStanding[] => [
    ...(session === null ? [] : [standing('session', session, viewer)]),
    standing('day', options.today(), viewer),
  ];
  const reserve = (request: BudgetRequest): BudgetRefusal | null => {
    const parent = request.parent ?? null;
    const scopes = scopesOf(request.session, parent).filter((scope) => scope.ceilingUsd !== null);
    const unknown = refuseUnknownCost(request, scopes, settings.allowUnknownCost);
    if (unknown !== null) return unknown;
    if (!request.usesModel) return null;
    const spent = scopes.find((scope) => roomOf(scope) <= 0);
    if (spent !== undefined) return refuseSpent(spent);
    const above = findSpentFamily(listReservations(books), parent);
    if (above !== null) return above;
    // Without a cap of its own a run may spend all that is left, so all of it is kept for it.
    const usd = Math.min(request.caps.usd ?? Infinity, ...scopes.map(roomOf));
    if (usd === Infinity) return null;
    writeReservation(books, {
      runId: request.runId,
      usd,
      capUsd: request.caps.usd ?? null,
      usedUsd: 0,
      childrenUsd: 0,
      parent,
      session: request.session,
      day: options.today(),
      atMs: books.nowMs(),
    });
    return null;
  };

  return {
    reserve: (request) =>
      books.alone(() => {
        sweepReservations(books);
        const refusal = reserve(request);
        const { runId, caps, session, model } = request;
        if (refusal === null) active.set(runId, { caps, session, model });
        return refusal;
      }),
    follow(runId, usage, earlier = NOTHING_EARLIER) {
      const run = active.get(runId);
      if (run === undefined) return null;
      const costUsd = costOf(usage, run.model) ?? costOf({ ...withoutCost(usage), models: [] }, run.model);
      const counted = findPassedCount(run.caps, usage, earlier);
      if (counted !== null || costUsd === undefined) return counted;
      tellUsed(books, runId, earlier.costUsd + costUsd);
      const held = listReservations(books);
      return (
        findPassedMoney(run.caps, earlier.costUsd + costUsd) ??
        findPassedFamily(held, runId) ??
        findPassedScope(scopesOf(run.session, runId), earlier.costUsd)
      );
    },
    cost: costOf,
    settle(runId, usage) {
      const run = active.get(runId);
      active.delete(runId);
      const costUsd = usage === undefined ? undefined : costOf(usage, run?.model);
      books.alone(() => closeReservation(books, runId, costUsd));
      for (const scope of scopesOf(run?.session ?? null)) options.onUpdate(scope);
    },
    standings: (session) => scopesOf(session ?? null),
  };
}

const NOTHING_EARLIER: EarlierUse = { tokens: 0, turns: 0, toolCalls: 0, costUsd: 0 };

/** Others see what a run has spent before it ends; never less than they saw. */
function tellUsed(books: Books, runId: string, usedUsd: number): void {
  const isMore = (row: Reservation | undefined) => row !== undefined && usedUsd > row.usedUsd;
  const find = () => listReservations(books).find((held) => held.runId === runId);
  if (!isMore(find())) return;
  books.alone(() => {
    const row = find();
    if (row !== undefined && isMore(row)) writeReservation(books, { ...row, usedUsd });
  });
}

/** B3 */
function refuseUnknownCost(
  request: BudgetRequest,
  scopes: readonly BudgetStanding[],
  isAllowed: boolean,
): BudgetRefusal | null {
  const hasMoneyCap = request.caps.usd !== undefined || scopes.length > 0;
  if (!hasMoneyCap || isAllowed || !request.usesModel) return null;
  // A program that tells its cost knows the price of its own default, and 0 for what it does not know.
  if (request.model === '' ? request.reportsCost : findPrice(request.model) !== null) return null;
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
    remedy: `Raise budget.${scope.scope === 'day' ? 'perDayUsd' : 'perSessionUsd'}, or wait${
      scope.reservedUsd > 0
        ? '; runs with a cap of their own (--budget, budget.perRunUsd) reserve no more than that'
        : ''
    }.`,
  };
}

function roomOf(scope: BudgetStanding): number {
  return scope.ceilingUsd === null ? Infinity : scope.ceilingUsd - scope.spentUsd - scope.reservedUsd;
}

/** A child may spend no more than is left of those above it. */
function findSpentFamily(held: readonly Reservation[], parent: string | null): BudgetRefusal | null {
  for (const { runId, capUsd } of lineOf(held, parent)) {
    const used = familyUsd(held, runId);
    if (capUsd !== null && used >= capUsd)
      return {
        kind: 'budget',
        detail: `the budget of ${runId}, which dispatches it, is used up: ${used.toFixed(2)} of ${capUsd.toFixed(2)} USD spent`,
      };
  }
  return null;
}

function findPassedCount(caps: BudgetCaps, usage: Usage, earlier: EarlierUse): { detail: string } | null {
  const counted: [string, number | undefined, number][] = [
    ['tokens', caps.tokens, tokensOf(usage) + earlier.tokens],
    ['turns', caps.turns, (usage.turns ?? 0) + earlier.turns],
    ['tool calls', caps.toolCalls, (usage.toolCalls ?? 0) + earlier.toolCalls],
  ];
  for (const [name, cap, used] of counted) {
    if (cap !== undefined && used > cap) return { detail: `${used} ${name} used, the cap is ${cap}` };
  }
  return null;
}

function findPassedMoney(caps: BudgetCaps, costUsd: number): { detail: string } | null {
  if (caps.usd === undefined || costUsd <= caps.usd) return null;
  return { detail: `$${costUsd.toFixed(4)} spent, the cap is $${caps.usd}` };
}

function findPassedFamily(held: readonly Reservation[], own: string): { detail: string } | null {
  for (const { runId, capUsd } of lineOf(held, own)) {
    const used = familyUsd(held, runId);
    if (capUsd !== null && used > capUsd)
      return {
        detail: `$${used.toFixed(4)} spent by ${runId} and what it dispatched, the cap is $${capUsd}`,
      };
  }
  return null;
}

/** What others have spent and reserved counts too. Our earlier attempts are in the books and in our row. */
function findPassedScope(scopes: readonly BudgetStanding[], earlierUsd: number): { detail: string } | null {
  for (const { scope, scopeId, ceilingUsd, spentUsd, reservedUsd } of scopes) {
    const total = spentUsd + reservedUsd - earlierUsd;
    if (ceilingUsd !== null && total > ceilingUsd)
      return { detail: `$${total.toFixed(4)} in ${scope} ${scopeId}, the cap is $${ceilingUsd}` };
  }
  return null;
}

function withoutCost({ costUsd: _costUsd, ...usage }: Usage): Usage {
  return usage;
}
