import type { Engine } from '../engine.ts';
import type { SpendFilter, SpendRow } from '../ledger/index.ts';

/** What each run has cost, as the budget counts it: a plain command has no cost that could be unknown. */
export function readSpend({ ledger }: Pick<Engine, 'ledger'>, filter?: SpendFilter): SpendRow[] {
  return ledger
    .spend(filter)
    .map((row) =>
      row.runtime === 'command' && row.unknownCosts > 0
        ? { ...row, costUsd: row.costUsd ?? 0, unknownCosts: 0 }
        : row,
    );
}
