import type { BudgetOptions, BudgetRefusal, BudgetRequest, BudgetStanding, EarlierUse } from './contract.ts';
import { findSpentFamily } from './family-caps.ts';
import { refuseSpent, refuseUnknownCost } from './refusals.ts';
import { beginReservation, listReservations, writeReservation } from './reservations.ts';
import { hasCountCaps, refuseCounted } from './scope-counts.ts';
import type { Scopes } from './scopes.ts';

export const NOTHING_EARLIER: EarlierUse = { tokens: 0, turns: 0, toolCalls: 0, costUsd: 0 };

/** Promises a run what it may spend, or says why nothing is left. The caller is alone with the books. */
export function reserve(
  { settings, books }: BudgetOptions,
  scopes: Scopes,
  request: BudgetRequest,
): BudgetRefusal | null {
  const parent = request.parent ?? null;
  const capped = scopes.standings(request.session, parent).filter((scope) => scope.ceilingUsd !== null);
  const unknown = refuseUnknownCost(request, capped, settings.allowUnknownCost);
  if (unknown !== null) return unknown;
  if (!request.usesModel) return null;
  const spent = capped.find((scope) => leftOf(scope) <= 0);
  if (spent !== undefined) return refuseSpent(spent);
  const isCounting = hasCountCaps(settings);
  const counted = isCounting ? refuseCounted(settings, scopes.counted(request.session)) : null;
  if (counted !== null) return counted;
  const above = findSpentFamily(listReservations(books), parent);
  if (above !== null) return above;
  // Without its own cap a run may spend everything that is left, but others may start too: its spending is watched.
  const left = Math.min(Infinity, ...capped.map(leftOf));
  const usd = Math.min(request.caps.usd ?? left / Math.max(2, settings.shares), left);
  if (usd === Infinity && !isCounting) return null;
  const own = { parent, session: request.session, capUsd: request.caps.usd ?? null };
  writeReservation(books, {
    ...beginReservation(books, request.runId, own),
    usd: usd === Infinity ? 0 : usd,
  });
  return null;
}

function leftOf(scope: BudgetStanding): number {
  return scope.ceilingUsd === null ? Infinity : scope.ceilingUsd - scope.spentUsd - scope.reservedUsd;
}
