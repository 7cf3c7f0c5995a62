/**
 * What an agent says and does, in the record of its run: at most so many events an attempt. Others are only published,
 * and counted in the record (`work.gap`). A part is for the calls that the broker saw, however much the agent says.
 */
import { definedOnly, MAX_WORK_EVENTS, type DataOf, type WorkType } from '@caisson/protocol';
import type { RunRecord, StoredEvent } from '../ledger/index.ts';

const MIN_MODEL_CALLS = 500;

export interface WorkRecord {
  /** `id` makes it idempotent. `pastAt`: when it happened, if that is over; its listeners had it then. */
  keep<T extends WorkType>(type: T, data: DataOf<T>, id?: string, pastAt?: string): void;
  /** Nothing more will come: what is missing is recorded as missing. */
  close(): void;
}

export interface WorkPlace {
  readonly runId: string;
  readonly attempt: number;
  /** It is one call, of a command: mostly its end and the ending come next. */
  readonly isCommand?: boolean;
}

/** `recorded`: what an earlier host has recorded of this attempt. */
export function createWorkRecord(
  record: RunRecord,
  { runId, attempt, isCommand = false }: WorkPlace,
  recorded: readonly Pick<StoredEvent, 'id' | 'type'>[] = [],
): WorkRecord {
  const keep: RunRecord['keep'] = (...given) =>
    isCommand ? record.keepWithNext(...given) : record.keep(...given);
  const known = new Set(recorded.map(({ id }) => id));
  const missing = new Map<string, number>();
  let room = MAX_WORK_EVENTS - recorded.length;
  let agentRoom = MAX_WORK_EVENTS - MIN_MODEL_CALLS - recorded.filter(isOfAgent).length;
  const takeRoom = (type: WorkType): boolean => {
    const fits = room > 0 && (agentRoom > 0 || !isOfAgent({ type }));
    if (fits) room -= 1;
    if (fits && isOfAgent({ type })) agentRoom -= 1;
    return fits;
  };
  return {
    keep(type, data, id, pastAt) {
      if (id !== undefined && known.has(id)) return;
      if (takeRoom(type)) return keep(type, data, { attempt, ...definedOnly({ id, at: pastAt }) });
      missing.set(type, (missing.get(type) ?? 0) + 1);
      if (pastAt === undefined) record.publish(type, data, attempt);
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

function isOfAgent({ type }: Pick<StoredEvent, 'type'>): boolean {
  return type !== 'model.called';
}
