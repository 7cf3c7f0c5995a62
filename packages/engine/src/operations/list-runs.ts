import type { Engine } from '../engine.ts';
import { DEFAULT_POOL, type RunFilter, type RunRow } from '../ledger/index.ts';

/** A run as `caisson runs` lists it. */
export interface ListedRun extends RunRow {
  /** Of a queued run: how many it waits behind, itself included. Absent once it has its slot and is prepared. */
  readonly position?: number;
}

export function listRuns({ ledger, clock }: Engine, filter: RunFilter = {}): ListedRun[] {
  const queues = new Map<string, readonly string[]>();
  const queueOf = (pool: string): readonly string[] => {
    const queue = queues.get(pool) ?? ledger.leases.listQueue(pool, clock.wallMs()).map(({ runId }) => runId);
    queues.set(pool, queue);
    return queue;
  };
  return ledger.runs(filter).map((row) => {
    const position = row.status !== 'queued' ? 0 : queueOf(row.pool ?? DEFAULT_POOL).indexOf(row.runId) + 1;
    return position === 0 ? row : { ...row, position };
  });
}
