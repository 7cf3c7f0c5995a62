import type { EventType } from '@caisson/protocol';
import { LedgerCorruptError } from './errors.ts';
import { hashRecord, type EventRecord } from './event-record.ts';
import type { Storage } from './storage.ts';

/** The newest event of a type, searched from the end, where it nearly always is. */
export function findLast(storage: Storage, type: EventType): EventRecord | null {
  for (let offset = storage.total().count; offset > 0; offset -= 1) {
    const record = storage.eventAt(offset);
    if (record === null)
      throw new LedgerCorruptError(storage.file, `the event at offset ${offset} is missing`);
    if (record.type === type) return demandOwnHash(storage, record);
  }
  return null;
}

export function findById(storage: Storage, id: string): EventRecord | null {
  const record = storage.eventById(id);
  return record === null ? null : demandOwnHash(storage, record);
}

function demandOwnHash({ file }: Storage, record: EventRecord): EventRecord {
  if (hashRecord(record) === record.hash) return record;
  const { runId, seq } = record;
  throw new LedgerCorruptError(file, 'the event does not match its own hash', { runId, seq });
}
