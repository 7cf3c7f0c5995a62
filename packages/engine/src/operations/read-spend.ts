import { shareTurn } from '@caisson/ground';
import type { Engine } from '../engine.ts';
import type { SpendRow } from '../ledger/index.ts';

const AT_ONCE = 50;

/** What each run has cost, as the budget counts it: a plain command has no cost that could be unknown. */
export async function readSpend(
  { ledger }: Pick<Engine, 'ledger'>,
  filter?: { session?: string; day?: string },
): Promise<SpendRow[]> {
  const rows: SpendRow[] = [];
  let asked = 0;
  for (const row of ledger.spend(filter)) {
    if (row.unknownCosts > 0 && ++asked % AT_ONCE === 0) await shareTurn();
    const isFree = row.unknownCosts > 0 && ledger.run(row.runId)?.runtime === 'command';
    rows.push(isFree ? { ...row, costUsd: row.costUsd ?? 0, unknownCosts: 0 } : row);
  }
  return rows;
}
