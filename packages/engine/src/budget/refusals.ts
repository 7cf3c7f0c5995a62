/** Why a run may not start, in words for a person. */
import type { BudgetCaps } from '@caisson/protocol';
import type { BudgetRefusal, BudgetRequest, BudgetStanding } from './contract.ts';
import { findPrice } from './price-table.ts';

export const UNKNOWN_COST_REMEDY =
  'Name a model with a known price (--model), cap tokens instead (--max-tokens), or set budget.allowUnknownCost.';

/** B3 */
export function refuseUnknownCost(
  request: BudgetRequest,
  scopes: readonly BudgetStanding[],
  isAllowed: boolean,
): BudgetRefusal | null {
  const hasMoneyCap = request.caps.usd !== undefined || scopes.length > 0;
  if (!hasMoneyCap || isAllowed || !request.usesModel) return null;
  // A program that reports its cost may choose its model: the first answer shows whether that has a price.
  if (request.model === '' ? request.reportsCost : findPrice(request.model) !== null) return null;
  return {
    kind: 'budget',
    detail:
      request.model === ''
        ? 'a money cap is set, and no model is named whose price is known'
        : `a money cap is set, and the price of ${request.model} is unknown`,
    remedy: UNKNOWN_COST_REMEDY,
  };
}

/** Every run calls its model at least once, so the first answer would pass a cap of 0. */
export function refuseNothing(caps: BudgetCaps): BudgetRefusal | null {
  const name = (['usd', 'tokens', 'turns'] as const).find((counted) => caps[counted] === 0);
  return name === undefined
    ? null
    : { kind: 'budget', detail: `its cap of 0 ${name === 'usd' ? 'USD' : name} leaves nothing to spend` };
}

export function refuseSpent(scope: BudgetStanding): BudgetRefusal {
  const what = scope.scope === 'day' ? `today (${scope.scopeId})` : `session ${scope.scopeId}`;
  const reserved = scope.reservedUsd > 0 ? `, ${scope.reservedUsd.toFixed(2)} reserved` : '';
  return {
    kind: 'budget',
    detail: `the budget of ${what} is used up: ${scope.spentUsd.toFixed(2)} of ${(scope.ceilingUsd ?? 0).toFixed(2)} USD spent${reserved}`,
    remedy: `Raise budget.${scope.scope === 'day' ? 'perDayUsd' : 'perSessionUsd'}, or wait${
      scope.reservedUsd > 0
        ? '; runs with their own cap (--budget, budget.perRunUsd) reserve no more than that'
        : ''
    }.`,
  };
}
