import type { Clock } from '@caisson/ground';
import { BusTopic } from '@caisson/protocol';
import { createBudget, type Budget } from '../budget/index.ts';
import type { SafeEventBus } from '../bus/index.ts';
import type { ResolvedConfig } from '../config/index.ts';
import type { Ledger } from '../ledger/index.ts';

/** The budget keeps its records in the ledger and reports its state on the bus. */
export function openBudget(
  config: ResolvedConfig,
  ledger: Pick<Ledger, 'spend' | 'run' | 'alone' | 'kv'>,
  bus: SafeEventBus,
  clock: Clock,
): Budget {
  return createBudget({
    settings: { ...config.budget, shares: config.limits.concurrency },
    books: {
      spend: (filter) => ledger.spend(filter),
      stateOf(runId) {
        const run = ledger.run(runId);
        return run === null ? 'unknown' : run.ending === undefined ? 'open' : 'ended';
      },
      usesModel(runId) {
        const run = ledger.run(runId);
        return run === null || (run.runtime !== 'command' && run.startedAt !== undefined);
      },
      nowMs: () => clock.wallMs(),
      alone: (work) => ledger.alone(work),
      rows: ledger.kv,
    },
    today: () => clock.now().toISOString().slice(0, 10),
    onUpdate: ({ unknownCosts: _unknown, countCaps: _caps, countsUsed: _used, ...standing }) =>
      bus.emit(BusTopic.BUDGET_UPDATED, standing),
  });
}
