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
import { findPassedFamily } from './family-caps.ts';
import { costOf, findPrice, tokensOf } from './price-table.ts';
import { refuseNothing, UNKNOWN_COST_REMEDY } from './refusals.ts';
import {
  beginReservation,
  closeReservation,
  isReserved,
  lastUsage,
  lineOf,
  listReservations,
  sum,
  sweepReservations,
  writeReservation,
  type Reservation,
} from './reservations.ts';
import { NOTHING_EARLIER, reserve } from './reserve.ts';
import { countsOf, findPassedScopeCount, hasCountCaps } from './scope-counts.ts';
import { createScopes } from './scopes.ts';

export function createBudget(options: BudgetOptions): Budget {
  const active = new Map<string, ActiveBudget>();
  const { settings, books } = options;
  const isCounting = hasCountCaps(settings);
  const scopes = createScopes(options);

  const isScopeCapped = (session: string | null): boolean =>
    settings.perDayUsd !== null || (session !== null && settings.perSessionUsd !== null);
  return {
    resume: (run) => void active.set(run.runId, describeActive(run)),
    reserve(request) {
      const { caps, session } = request;
      const isCapped = isCounting || isScopeCapped(session) || Object.keys(caps).length > 0;
      const nothing = request.usesModel ? refuseNothing(caps) : null;
      if (nothing !== null) return nothing;
      const refusal = isCapped ? books.alone(() => reserveSwept(options, scopes, request)) : null; // nothing to reserve, and no write that admission would wait for
      if (refusal === null) active.set(request.runId, describeActive(request));
      return refusal;
    },
    follow(runId, usage, earlier = NOTHING_EARLIER) {
      const run = active.get(runId);
      if (run === undefined) return null;
      const costUsd = costOf(usage, run.model) ?? costOf({ ...withoutCost(usage), models: [] }, run.model);
      recordUsed(books, runId, { run, usedUsd: earlier.costUsd + (costUsd ?? 0), last: { usage, earlier } });
      const counted =
        findPassedCount(run.caps, usage, earlier) ??
        (isCounting ? findPassedScopeCount(settings, scopes.counted(run.session), earlier) : null);
      if (counted !== null) return counted;
      const held = listReservations(books);
      // Each reads what a whole day has spent, for every line of a worker that reports its usage.
      const standings = isScopeCapped(run.session) ? scopes.standings(run.session, runId, 'caps') : [];
      if (costUsd === undefined)
        return settings.allowUnknownCost || !isMoneyCapped(run, lineOf(held, runId), standings)
          ? null
          : findUnpriced(usage);
      return (
        findPassedMoney(run.caps, earlier.costUsd + costUsd) ??
        findPassedFamily(held, runId) ??
        findPassedScope(standings, earlier.costUsd)
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
      if (!wasReserved && usage === undefined) return; // nothing was spent; recording that would read the whole day
      for (const scope of scopes.standings(run?.session ?? null)) options.onUpdate(scope);
    },
    standings: (session) =>
      scopes.standings(session ?? null).map((each) => ({ ...each, unknownCosts: countUnknown(books, each) })),
  };
}

function reserveSwept(
  options: BudgetOptions,
  scopes: ReturnType<typeof createScopes>,
  request: BudgetRequest,
): BudgetRefusal | null {
  sweepReservations(options.books);
  return reserve(options, scopes, request);
}

/** What is known of a run while it is under way here. */
interface ActiveBudget {
  readonly caps: BudgetCaps;
  readonly session: string | null;
  readonly model: string;
  readonly parent: string | null;
}

function describeActive(run: Parameters<Budget['resume']>[0]): ActiveBudget {
  const { caps, session, model, parent } = run;
  return { caps, session, model, parent: parent ?? null };
}

/** A plain command has no cost that could be unknown. */
function countUnknown(books: Books, { scope, scopeId }: BudgetStanding): number {
  const rows = books.spend(scope === 'session' ? { session: scopeId } : { day: scopeId });
  const unknown = rows.filter((row) => row.unknownCosts > 0 && books.usesModel(row.runId));
  return sum(unknown.map((row) => row.unknownCosts));
}

/**
 * Others see what a run has spent before it ends, never less than they saw; and so does the process that settles it when this host
 * is killed. A run without a cap has a row from the first answer of its model on.
 */
function recordUsed(
  books: Books,
  runId: string,
  { run, usedUsd, last }: { run: ActiveBudget; usedUsd: number; last: NonNullable<Reservation['last']> },
): void {
  const counts = countsOf(last.usage, last.earlier);
  const isMore = (row: Reservation | undefined) =>
    row === undefined
      ? tokensOf(last.usage) > 0
      : usedUsd > row.usedUsd || !isDeepStrictEqual(counts, row.counts);
  const find = () => listReservations(books).find((held) => held.runId === runId);
  if (!isMore(find())) return;
  books.alone(() => {
    const row = find();
    if (!isMore(row)) return;
    const known = row ?? beginReservation(books, runId, { ...run, capUsd: run.caps.usd ?? null });
    writeReservation(books, { ...known, usedUsd: Math.max(usedUsd, known.usedUsd), counts, last });
  });
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

/** By its own cap, that of a run above it, or that of its session or day. */
function isMoneyCapped(
  { caps }: ActiveBudget,
  line: readonly Reservation[],
  scopes: readonly BudgetStanding[],
): boolean {
  return (
    caps.usd !== undefined ||
    line.some(({ capUsd }) => capUsd !== null) ||
    scopes.some(({ ceilingUsd }) => ceilingUsd !== null)
  );
}

/** B3: an agent may choose its model itself, so that only its first answer shows that the price is unknown. */
function findUnpriced(usage: Usage): { detail: string } | null {
  if (tokensOf(usage) === 0) return null;
  const unpriced = usage.models.filter((model) => findPrice(model) === null);
  const name = unpriced.length === 0 ? 'the model that answered' : unpriced.join(', ');
  return {
    detail: `the price of ${name} is unknown, so the money cap cannot be enforced. ${UNKNOWN_COST_REMEDY}`,
  };
}

/**
 * What others have spent, or may spend by their cap, counts too. Our earlier attempts are in the ledger and in our row.
 */
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
