import type { Ledger } from '../contract.ts';

/** All projections at once, to compare before and after a rebuild. */
export function everyRow(ledger: Ledger) {
  const runs = ledger.runs();
  return {
    runs,
    attempts: runs.map((run) => ledger.attempts(run.runId)),
    questions: ledger.questions(),
    spend: ledger.spend(),
  };
}
