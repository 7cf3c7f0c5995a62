// Reading is checking (L6): nothing leaves the ledger whose place and hash were not confirmed.

import type { ReadQuery } from './contract.ts';
import { LedgerCorruptError } from './errors.ts';
import { chainOffset, hashRecord, ZERO_HASH } from './event-record.ts';
import type { EventRecord } from './event-record.ts';
import type { Storage } from './storage.ts';

const PAGE = 512;

/** The records a query asks for, each checked against its hash, its predecessor and the count of its stream. */
export function readRecords(storage: Storage, query: ReadQuery): EventRecord[] {
  const limit = query.limit ?? Number.POSITIVE_INFINITY;
  const types = query.types === undefined ? null : new Set(query.types);
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
  let prevHash = afterSeq > 0 && afterSeq <= stream.count ? hashAt(storage, runId, afterSeq) : ZERO_HASH;
  let seq = afterSeq;
  for (;;) {
    const page = storage.eventsOf(runId, seq, PAGE);
    for (const record of page) {
      if (record.seq !== seq + 1) throw missing(file, runId, seq + 1);
      checkRecord(file, record, prevHash);
      prevHash = record.hash;
      seq = record.seq;
      yield record;
    }
    if (page.length < PAGE) break;
  }
  if (seq < stream.count) throw missing(file, runId, seq + 1);
  if (seq > stream.count && seq > afterSeq) {
    throw new LedgerCorruptError(file, `the stream holds ${seq} events but was counted at ${stream.count}`, {
      runId,
      seq,
    });
  }
  if (seq > afterSeq && prevHash !== stream.head) throw wrongHead(file, runId, seq, 'recorded head');
  checkSeal(storage, runId, afterSeq);
}

/** Everything from a cursor to the end, in global order; throws where it is damaged. */
export function* walkAll(storage: Storage, afterOffset: number): Generator<EventRecord> {
  const { file } = storage;
  const total = storage.total();
  const heads = new Map<string | null, { seq: number; hash: string }>();
  let offset = afterOffset;
  let chain = afterOffset === 0 ? ZERO_HASH : null;
  for (;;) {
    const page = storage.eventsFrom(offset, PAGE);
    for (const record of page) {
      if (record.offset !== offset + 1) throw holeAt(file, offset + 1);
      const before = heads.get(record.runId) ?? predecessor(storage, record);
      if (record.seq !== before.seq + 1) throw missing(file, record.runId, before.seq + 1);
      checkRecord(file, record, before.hash);
      heads.set(record.runId, { seq: record.seq, hash: record.hash });
      if (chain !== null) chain = chainOffset(chain, record.hash);
      offset = record.offset;
      yield record;
    }
    if (page.length < PAGE) break;
  }
  if (offset < total.count) throw holeAt(file, offset + 1);
  if (offset > total.count && offset > afterOffset) {
    throw new LedgerCorruptError(file, `it holds ${offset} events but was counted at ${total.count}`);
  }
  if (chain !== null && chain !== total.head) {
    throw new LedgerCorruptError(file, 'the chain over all events does not end in the recorded head');
  }
  for (const [runId, head] of heads) checkStreamEnd(storage, runId, head);
}

function checkStreamEnd(storage: Storage, runId: string | null, head: { seq: number; hash: string }): void {
  const stream = storage.stream(runId);
  if (head.seq < stream.count) throw missing(storage.file, runId, head.seq + 1);
  if (head.hash !== stream.head) throw wrongHead(storage.file, runId, head.seq, 'recorded head');
  checkSeal(storage, runId, 0);
}

/** A sealed run says itself how long it is: a missing tail cannot hide behind a changed count. */
function checkSeal(storage: Storage, runId: string | null, afterSeq: number): void {
  const stream = storage.stream(runId);
  const seal = storage.seal(runId);
  if (seal === null) {
    if (stream.isSealed)
      throw new LedgerCorruptError(storage.file, 'its seal is missing', { runId, seq: stream.count });
    return;
  }
  if (seal.count > stream.count)
    throw missing(
      storage.file,
      runId,
      Math.max(stream.count, afterSeq) + 1,
      'the run is sealed at ' + seal.count,
    );
  if (seal.count !== stream.count || seal.head !== stream.head) {
    throw wrongHead(storage.file, runId, stream.count, `seal (${seal.count} events)`);
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
  if (record.prevHash !== prevHash) {
    throw new LedgerCorruptError(file, 'the event does not continue the one before it', where);
  }
}

function predecessor(storage: Storage, record: EventRecord): { seq: number; hash: string } {
  if (record.seq === 1) return { seq: 0, hash: ZERO_HASH };
  return { seq: record.seq - 1, hash: hashAt(storage, record.runId, record.seq - 1) };
}

function hashAt(storage: Storage, runId: string | null, seq: number): string {
  const record = storage.eventAt(runId, seq);
  if (record === null) throw missing(storage.file, runId, seq);
  return record.hash;
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
