/** The money cap of a run covers everything that it dispatches, too. */
import type { BudgetRefusal } from './contract.ts';
import { familyUsd, lineOf, type Reservation } from './reservations.ts';

/** A child may spend no more than its parents have left. */
export function findSpentFamily(held: readonly Reservation[], parent: string | null): BudgetRefusal | null {
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

export function findPassedFamily(held: readonly Reservation[], own: string): { detail: string } | null {
  for (const { runId, capUsd } of lineOf(held, own)) {
    const used = familyUsd(held, runId);
    if (capUsd !== null && used > capUsd)
      return {
        detail: `$${used.toFixed(4)} spent by ${runId} and what it dispatched, the cap is $${capUsd}`,
      };
  }
  return null;
}
