import { DEFAULT_POOL } from '../contract.ts';
import type { Ledger } from '../contract.ts';
import { AT } from '../fixtures/sample-events.ts';

/** All projections at once, to compare before and after a rebuild. */
export function everyRow(ledger: Ledger) {
  const runs = ledger.runs();
  return {
    runs,
    attempts: runs.map((run) => ledger.attempts(run.runId)),
    questions: ledger.questions(),
    approvals: ledger.approvals(),
    spend: ledger.spend(),
    threads: ledger.threads(),
    queue: [...new Set(runs.map((run) => run.pool ?? DEFAULT_POOL))].map((pool) =>
      ledger.leases.listQueue(pool, Date.parse(AT)),
    ),
  };
}
