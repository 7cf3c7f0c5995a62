// What every walk along the chain checks, and how it names what is wrong.

import { LedgerCorruptError } from './errors.ts';
import { hashRecord, type EventRecord } from './event-record.ts';
import type { Storage } from './storage.ts';

/** An ended run has a second record of its length: a missing tail cannot hide behind a changed count. */
export function checkEnd(storage: Storage, runId: string | null): void {
  const stream = storage.stream(runId);
  const end = storage.end(runId);
  const where = { runId, seq: stream.count };
  if (end === null && stream.isEnded)
    throw new LedgerCorruptError(storage.file, 'its recorded end is missing', where);
  if (end === null) return;
  if (end.count > stream.count) throw missing(storage.file, runId, stream.count + 1, `ended at ${end.count}`);
  if (end.count !== stream.count || end.head !== stream.head) {
    throw wrongHead(storage.file, runId, stream.count, `recorded end (${end.count} events)`);
  }
}

export function checkRecord(file: string, record: EventRecord, prevHash: string): void {
  const where = { runId: record.runId, seq: record.seq };
  if (hashRecord(record) !== record.hash) {
    throw new LedgerCorruptError(
      file,
      'the event does not match its own hash, so its content was changed',
      where,
    );
  }
  // The place of an event is in no hash: the links prove it, except for the first, which has none.
  const isLinkedRightly = record.seq > 1 || record.prevOffset === 0;
  if (record.prevHash !== prevHash || !isLinkedRightly) {
    throw new LedgerCorruptError(file, 'the event does not continue the one before it', where);
  }
}

export function misplaced(
  file: string,
  runId: string | null,
  seq: number,
  found: EventRecord,
): LedgerCorruptError {
  const problem = `the event's place has seq ${found.seq} of ${found.runId ?? 'the project stream'}`;
  return new LedgerCorruptError(file, problem, { runId, seq });
}

export function missing(
  file: string,
  runId: string | null,
  seq: number,
  detail?: string,
): LedgerCorruptError {
  return new LedgerCorruptError(file, `the event is missing${detail === undefined ? '' : ` (${detail})`}`, {
    runId,
    seq,
  });
}

export function holeAt(file: string, offset: number): LedgerCorruptError {
  return new LedgerCorruptError(file, `the event at offset ${offset} is missing`);
}

export function wrongHead(file: string, runId: string | null, seq: number, what: string): LedgerCorruptError {
  return new LedgerCorruptError(file, `the stream does not end as its ${what} says`, { runId, seq });
}
