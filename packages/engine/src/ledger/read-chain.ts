// Reading is checking (L6): every event's place and hash are verified before it is returned.

import { shareTurn } from '@caisson/ground';
import type { ReadQuery } from './contract.ts';
import { LedgerCorruptError } from './errors.ts';
import { hashRecord, ZERO_HASH } from './event-record.ts';
import type { EventRecord } from './event-record.ts';
import type { Storage } from './storage.ts';

const PAGE = 512;
/** So many records are less than a millisecond. */
const STEP = 32;

/** The requested records, each checked against its hash, its predecessor and the count of its stream. */
export function readRecords(storage: Storage, query: ReadQuery): EventRecord[] {
  const limit = query.limit ?? Number.POSITIVE_INFINITY;
  const types = query.types === undefined ? null : new Set<string>(query.types);
  const found: EventRecord[] = [];
  if (limit <= 0) return found;
  const records =
    query.runId === undefined
      ? walkAll(storage, query.after ?? 0)
      : walkRun(storage, query.runId, query.after ?? 0);
  for (const record of records) {
    if (types !== null && !types.has(record.type)) continue;
    if (found.push(record) >= limit) break;
  }
  return found;
}

/** One stream from a cursor to its end, in order; throws where it is damaged. */
export function* walkRun(storage: Storage, runId: string | null, afterSeq: number): Generator<EventRecord> {
  const { file } = storage;
  const stream = storage.stream(runId);
  checkEnd(storage, runId);
  if (stream.count === 0) return checkEmpty(storage, runId);
  if (afterSeq >= stream.count) return;
  const records = collectBackwards(storage, runId, Math.max(afterSeq, 1));
  let prevHash = ZERO_HASH;
  for (const record of records) {
    // The cursor's own event is read too, to verify the link of the first one after it.
    checkRecord(file, record, record.seq === afterSeq ? record.prevHash : prevHash);
    prevHash = record.hash;
    if (record.seq > afterSeq) yield record;
  }
  if (prevHash !== stream.head) throw wrongHead(file, runId, stream.count, 'recorded head');
}

/** The events from `fromSeq` to the head, in order, found along the links from the head back. */
function collectBackwards(storage: Storage, runId: string | null, fromSeq: number): EventRecord[] {
  const stream = storage.stream(runId);
  const records: EventRecord[] = [];
  let offset = stream.headOffset;
  for (let seq = stream.count; seq >= fromSeq; seq -= 1) {
    const record = recordAt(storage, offset, { runId, seq });
    records.push(record);
    offset = record.prevOffset;
  }
  return records.reverse();
}

/** The record there, which must be that one. */
function recordAt(
  storage: Storage,
  offset: number,
  { runId, seq }: { readonly runId: string | null; readonly seq: number },
): EventRecord {
  const record = storage.eventAt(offset);
  if (record === null) throw missing(storage.file, runId, seq);
  if (record.runId !== runId || record.seq !== seq) throw misplaced(storage.file, runId, seq, record);
  return record;
}

/**
 * A whole stream as `walkRun` gives it, in pieces that share the turns of the event loop. Events never change (L3): what
 * is appended meanwhile does not matter, the head at the beginning counts.
 */
export async function readRunInTurns(
  storage: Storage,
  reading: <T>(work: () => T) => T,
  runId: string,
): Promise<EventRecord[]> {
  await shareTurn();
  const stream = reading(() => {
    checkEnd(storage, runId);
    return storage.stream(runId);
  });
  if (stream.count === 0) reading(() => checkEmpty(storage, runId));
  const records: EventRecord[] = [];
  const readStep = (): void => {
    for (let step = 0; step < STEP && records.length < stream.count; step += 1) {
      const offset = records.at(-1)?.prevOffset ?? stream.headOffset;
      records.push(recordAt(storage, offset, { runId, seq: stream.count - records.length }));
    }
  };
  for (; records.length < stream.count; await shareTurn()) reading(readStep);
  records.reverse();
  for (const [index, record] of records.entries()) {
    if (index % STEP === STEP - 1) await shareTurn();
    checkRecord(storage.file, record, records[index - 1]?.hash ?? ZERO_HASH);
  }
  const newest = records.at(-1);
  if (newest !== undefined && newest.hash !== stream.head)
    throw wrongHead(storage.file, runId, stream.count, 'recorded head');
  return records;
}

/** A run that has a row has at least one event. */
function checkEmpty(storage: Storage, runId: string | null): void {
  if (runId === null || storage.run(runId) === null) return;
  throw new LedgerCorruptError(storage.file, 'the run is known but its stream is not', { runId, seq: 1 });
}

/** Everything from a cursor to the end, in global order; throws where it is damaged. */
export function* walkAll(storage: Storage, afterOffset: number): Generator<EventRecord> {
  const { file } = storage;
  const total = storage.total();
  const heads = new Map<string | null, { seq: number; hash: string }>();
  let offset = afterOffset;
  let newest: string | null = null;
  for (;;) {
    const page = storage.eventsFrom(offset, PAGE);
    for (const record of page) {
      if (record.offset !== offset + 1) throw holeAt(file, offset + 1);
      const before = heads.get(record.runId) ?? predecessor(storage, record);
      if (record.seq !== before.seq + 1) throw missing(file, record.runId, before.seq + 1);
      checkRecord(file, record, before.hash);
      heads.set(record.runId, { seq: record.seq, hash: record.hash });
      newest = record.hash;
      offset = record.offset;
      yield record;
    }
    if (page.length < PAGE) break;
  }
  if (offset < total.count) throw holeAt(file, offset + 1);
  if (offset > total.count && offset > afterOffset) {
    throw new LedgerCorruptError(file, `it holds ${offset} events but was counted at ${total.count}`);
  }
  if (newest !== null && newest !== total.head) {
    throw new LedgerCorruptError(file, 'its newest event is not the one that was recorded last');
  }
  for (const [runId, head] of heads) checkStreamEnd(storage, runId, head);
}

function checkStreamEnd(storage: Storage, runId: string | null, head: { seq: number; hash: string }): void {
  const stream = storage.stream(runId);
  if (head.seq < stream.count) throw missing(storage.file, runId, head.seq + 1);
  if (head.hash !== stream.head) throw wrongHead(storage.file, runId, head.seq, 'recorded head');
  checkEnd(storage, runId);
}

/** An ended run has a second record of its length: a missing tail cannot hide behind a changed count. */
function checkEnd(storage: Storage, runId: string | null): void {
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

function checkRecord(file: string, record: EventRecord, prevHash: string): void {
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

function predecessor(storage: Storage, record: EventRecord): { seq: number; hash: string } {
  if (record.seq === 1) return { seq: 0, hash: ZERO_HASH };
  const before = storage.eventAt(record.prevOffset);
  if (before === null) throw missing(storage.file, record.runId, record.seq - 1);
  if (before.runId !== record.runId) throw misplaced(storage.file, record.runId, record.seq - 1, before);
  return { seq: before.seq, hash: before.hash };
}

function misplaced(file: string, runId: string | null, seq: number, found: EventRecord): LedgerCorruptError {
  const problem = `the event's place has seq ${found.seq} of ${found.runId ?? 'the project stream'}`;
  return new LedgerCorruptError(file, problem, { runId, seq });
}

function missing(file: string, runId: string | null, seq: number, detail?: string): LedgerCorruptError {
  return new LedgerCorruptError(file, `the event is missing${detail === undefined ? '' : ` (${detail})`}`, {
    runId,
    seq,
  });
}

function holeAt(file: string, offset: number): LedgerCorruptError {
  return new LedgerCorruptError(file, `the event at offset ${offset} is missing`);
}

function wrongHead(file: string, runId: string | null, seq: number, what: string): LedgerCorruptError {
  return new LedgerCorruptError(file, `the stream does not end as its ${what} says`, { runId, seq });
}
