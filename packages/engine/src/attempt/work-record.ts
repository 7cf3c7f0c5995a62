/**
 * What an agent says and does, in the record of its run: at most so many events an attempt. Others are only published,
 * and counted in the record (`work.gap`).
 */
import { MAX_WORK_EVENTS, type DataOf, type WorkType } from '@caisson/protocol';
import type { RunRecord } from '../ledger/index.ts';

export interface WorkRecord {
  /** `id` makes it idempotent. */
  keep<T extends WorkType>(type: T, data: DataOf<T>, id?: string): void;
  /** Nothing more will come: what is missing is recorded as missing. */
  close(): void;
}

/** `recorded`: the ids of what an earlier host has recorded of this attempt. */
export function createWorkRecord(
  record: RunRecord,
  { runId, attempt }: { runId: string; attempt: number },
  recorded: readonly string[] = [],
): WorkRecord {
  const known = new Set(recorded);
  const missing = new Map<string, number>();
  let room = MAX_WORK_EVENTS - recorded.length;
  return {
    keep(type, data, id) {
      if (id !== undefined && known.has(id)) return;
      room -= 1;
      if (room >= 0) return record.keep(type, data, { attempt, ...(id === undefined ? {} : { id }) });
      missing.set(type, (missing.get(type) ?? 0) + 1);
      record.publish(type, data, attempt);
    },
    close() {
      if (missing.size === 0) return;
      const count = [...missing.values()].reduce((sum, each) => sum + each, 0);
      const types = Object.fromEntries(missing);
      record.keep('work.gap', { count, types }, { attempt, id: `work-gap:${runId}.${attempt}` });
      missing.clear();
    },
  };
}
