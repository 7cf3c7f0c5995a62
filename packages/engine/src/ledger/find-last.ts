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
    if (record.type !== type) continue;
    if (hashRecord(record) === record.hash) return record;
    const { runId, seq } = record;
    throw new LedgerCorruptError(storage.file, 'the event does not match its own hash', { runId, seq });
  }
  return null;
}
