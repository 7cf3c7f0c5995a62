import { isDeepStrictEqual } from 'node:util';
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
import { findPassedFamily, findSpentFamily } from './family-caps.ts';
import { costOf, tokensOf } from './price-table.ts';
import { refuseNothing, refuseSpent, refuseUnknownCost } from './refusals.ts';
import {
  closeReservation,
  isReserved,
  lastUsage,
  listReservations,
  promisedUsd,
  sum,
  sweepReservations,
  writeReservation,
  type Reservation,
} from './reservations.ts';
import {
  countsOf,
  findPassedScopeCount,
  hasCountCaps,
  refuseCounted,
  type CountedScope,
} from './scope-counts.ts';

export function createBudget(options: BudgetOptions): Budget {
  const active = new Map<string, { caps: BudgetCaps; session: string | null; model: string }>();
  const { settings, books } = options;

  /** Of a session, or of today: a run is charged on the day of its end, so all that run now are of today. */
  const heldIn = (session: string | null): Reservation[] =>
    listReservations(books).filter((row) => session === null || row.session === session);
  const standing = (
    scope: 'session' | 'day',
    scopeId: string,
    { viewer, counts }: { viewer: string | null; counts: 'promises' | 'caps' },
  ): BudgetStanding => {
    const rows = books.spend(scope === 'session' ? { session: scopeId } : { day: scopeId });
    const held = heldIn(scope === 'session' ? scopeId : null);
    return {
      scope,
      scopeId,
      spentUsd: sum(rows.map((row) => row.costUsd ?? 0)),
      reservedUsd: promisedUsd(held, viewer, counts),
      ceilingUsd: scope === 'session' ? settings.perSessionUsd : settings.perDayUsd,
      unknownCosts: sum(rows.map((row) => row.unknownCosts)),
      estimatedCosts: sum(rows.map((row) => row.estimatedCosts ?? 0)),
      runCount: rows.length,
      tokensIn: sum(rows.map((row) => row.inputTokens)),
      tokensOut: sum(rows.map((row) => row.outputTokens)),
    };
  };
  const countedOf = (session: string | null): CountedScope[] => {
    const day = options.today();
    const ofDay = { spent: books.spend({ day }), held: heldIn(null) };
    const scopes: CountedScope[] = [{ scope: 'day', scopeId: day, ...ofDay }];
    if (session === null) return scopes;
    const ofSession = {
      spent: books.spend({ session }),
      held: heldIn(session),
    };
    return [{ scope: 'session', scopeId: session, ...ofSession }, ...scopes];
  };
  const isCounting = hasCountCaps(settings);
  const scopesOf = (
    session: string | null,
    viewer: string | null = null,
    counts: 'promises' | 'caps' = 'promises',
  ): BudgetStanding[] => [
    ...(session === null ? [] : [standing('session', session, { viewer, counts })]),
    standing('day', options.today(), { viewer, counts }),
  ];
  const reserve = (request: BudgetRequest): BudgetRefusal | null => {
    const parent = request.parent ?? null;
    const scopes = scopesOf(request.session, parent).filter((scope) => scope.ceilingUsd !== null);
    const unknown = refuseUnknownCost(request, scopes, settings.allowUnknownCost);
    if (unknown !== null) return unknown;
    if (!request.usesModel) return null;
    const spent = scopes.find((scope) => roomOf(scope) <= 0);
    if (spent !== undefined) return refuseSpent(spent);
    const counted = isCounting ? refuseCounted(settings, countedOf(request.session)) : null;
    if (counted !== null) return counted;
    const above = findSpentFamily(listReservations(books), parent);
    if (above !== null) return above;
    // Without a cap of its own a run may spend all that is left, but others may start too: it is watched as it spends.
    const room = Math.min(Infinity, ...scopes.map(roomOf));
    const usd = Math.min(request.caps.usd ?? room / Math.max(2, settings.shares), room);
    if (usd === Infinity && !isCounting) return null;
    writeReservation(books, {
      runId: request.runId,
      usd: usd === Infinity ? 0 : usd,
      capUsd: request.caps.usd ?? null,
      usedUsd: 0,
      counts: countsOf(NO_USAGE, NOTHING_EARLIER),
      last: null,
      childrenUsd: 0,
      parent,
      session: request.session,
      atMs: books.nowMs(),
    });
    return null;
  };

  return {
    reserve(request) {
      const { runId, caps, session, model } = request;
      const nothing = request.usesModel ? refuseNothing(caps) : null;
      if (nothing !== null) return nothing;
      const isScopeCapped =
        settings.perDayUsd !== null || (session !== null && settings.perSessionUsd !== null);
      const isCapped = isCounting || isScopeCapped || Object.keys(caps).length > 0;
      const refusal = isCapped
        ? books.alone(() => {
            sweepReservations(books);
            return reserve(request);
          })
        : null; // nothing to promise, and no write that admission would wait for
      if (refusal === null) active.set(runId, { caps, session, model });
      return refusal;
    },
    follow(runId, usage, earlier = NOTHING_EARLIER) {
      const run = active.get(runId);
      if (run === undefined) return null;
      const costUsd = costOf(usage, run.model) ?? costOf({ ...withoutCost(usage), models: [] }, run.model);
      tellUsed(books, runId, earlier.costUsd + (costUsd ?? 0), { usage, earlier });
      const counted =
        findPassedCount(run.caps, usage, earlier) ??
        (isCounting ? findPassedScopeCount(settings, countedOf(run.session), earlier) : null);
      if (counted !== null || costUsd === undefined) return counted;
      const held = listReservations(books);
      return (
        findPassedMoney(run.caps, earlier.costUsd + costUsd) ??
        findPassedFamily(held, runId) ??
        findPassedScope(scopesOf(run.session, runId, 'caps'), earlier.costUsd)
      );
    },
    cost: costOf,
    lastUsage: (runId, earlier = NOTHING_EARLIER) => lastUsage(books, runId, earlier) ?? undefined,
    settle(runId, usage) {
      const run = active.get(runId);
      active.delete(runId);
      const costUsd = usage === undefined ? undefined : costOf(usage, run?.model);
      const wasReserved = isReserved(books, runId);
      if (wasReserved) books.alone(() => closeReservation(books, runId, costUsd));
      if (!wasReserved && usage === undefined) return; // nothing was spent; to say so would read all of the day
      for (const scope of scopesOf(run?.session ?? null)) options.onUpdate(scope);
    },
    standings: (session) => scopesOf(session ?? null),
  };
}

const NO_USAGE: Usage = {
  models: [],
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};
const NOTHING_EARLIER: EarlierUse = { tokens: 0, turns: 0, toolCalls: 0, costUsd: 0 };

/** Others see what a run has spent before it ends; never less than they saw. */
function tellUsed(
  books: Books,
  runId: string,
  usedUsd: number,
  last: { usage: Usage; earlier: EarlierUse },
): void {
  const counts = countsOf(last.usage, last.earlier);
  const isMore = (row: Reservation | undefined) =>
    row !== undefined && (usedUsd > row.usedUsd || !isDeepStrictEqual(counts, row.counts));
  const find = () => listReservations(books).find((held) => held.runId === runId);
  if (!isMore(find())) return;
  books.alone(() => {
    const row = find();
    if (row !== undefined && isMore(row))
      writeReservation(books, { ...row, usedUsd: Math.max(usedUsd, row.usedUsd), counts, last });
  });
}

function roomOf(scope: BudgetStanding): number {
  return scope.ceilingUsd === null ? Infinity : scope.ceilingUsd - scope.spentUsd - scope.reservedUsd;
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

/** What others have spent, or may by a cap of theirs, counts too. Our earlier attempts are in the books and in our row. */
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
