import { definedOnly } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { DEFAULT_POOL, type RunFilter, type RunRow } from '../ledger/index.ts';
import { listApplied } from './run-applied.ts';
import { FORGOTTEN } from './run-forgotten.ts';

/** A run as `caisson runs` lists it. */
export interface ListedRun extends RunRow {
  /** Of a queued run: how many it waits behind, itself included. Absent once it has its slot and is prepared. */
  readonly position?: number;
  /** When a person took its work into their files. */
  readonly appliedAt?: string;
  /** When its contents were deleted on request. */
  readonly forgottenAt?: string;
}

export function listRuns({ ledger, clock }: Engine, filter: RunFilter = {}): ListedRun[] {
  const queues = new Map<string, readonly string[]>();
  const queueOf = (pool: string): readonly string[] => {
    const queue = queues.get(pool) ?? ledger.leases.listQueue(pool, clock.wallMs()).map(({ runId }) => runId);
    queues.set(pool, queue);
    return queue;
  };
  const applied = listApplied({ ledger });
  const forgotten = new Map(ledger.kv.list(FORGOTTEN).map(({ key, value }) => [key, String(value)]));
  return ledger.runs(filter).map((row) => {
    const position = row.status !== 'queued' ? 0 : queueOf(row.pool ?? DEFAULT_POOL).indexOf(row.runId) + 1;
    return {
      ...row,
      ...(position === 0 ? {} : { position }),
      ...definedOnly({ appliedAt: applied.get(row.runId), forgottenAt: forgotten.get(row.runId) }),
    };
  });
}
