// Reading is checking (L6): every event's place and hash are verified before it is returned.

import { shareTurn } from '@caisson/ground';
import type { ReadQuery } from './contract.ts';
import { checkEnd, checkRecord, misplaced, missing, wrongHead } from './chain-checks.ts';
import { LedgerCorruptError } from './errors.ts';
import { ZERO_HASH, type EventRecord } from './event-record.ts';
import type { Storage } from './storage.ts';
import { WALK_PAGE, walkAll } from './walk-all.ts';

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

export interface RunCursor {
  readonly runId: string;
  /** The events behind this `seq`. */
  readonly after: number;
}

/**
 * A stream as `walkRun` gives it, in pieces that share the turns of the event loop. Events never change (L3): what
 * is appended meanwhile does not matter, the head at the beginning counts.
 */
export async function readRunInTurns(
  storage: Storage,
  reading: <T>(work: () => T) => T,
  { runId, after }: RunCursor,
): Promise<EventRecord[]> {
  await shareTurn();
  const stream = reading(() => {
    checkEnd(storage, runId);
    return storage.stream(runId);
  });
  if (stream.count === 0) reading(() => checkEmpty(storage, runId));
  if (after >= stream.count) return [];
  // The cursor's own event is read too, to verify the link of the first one after it.
  const count = stream.count - Math.max(after - 1, 0);
  const records: EventRecord[] = [];
  const readStep = (): void => {
    for (let step = 0; step < STEP && records.length < count; step += 1) {
      const offset = records.at(-1)?.prevOffset ?? stream.headOffset;
      records.push(recordAt(storage, offset, { runId, seq: stream.count - records.length }));
    }
  };
  for (; records.length < count; await shareTurn()) reading(readStep);
  records.reverse();
  const first = after === 0 ? ZERO_HASH : (records[0]?.prevHash ?? ZERO_HASH);
  for (const [index, record] of records.entries()) {
    if (index % STEP === STEP - 1) await shareTurn();
    checkRecord(storage.file, record, records[index - 1]?.hash ?? first);
  }
  const newest = records.at(-1);
  if (newest !== undefined && newest.hash !== stream.head)
    throw wrongHead(storage.file, runId, stream.count, 'recorded head');
  return after === 0 ? records : records.slice(1);
}

/**
 * The same a page at a time. The links lead back, so a long way is gone twice: for the places, and for the events. A reader
 * that is slow holds a page and the places, not the events.
 */
export async function* pageRunInTurns(
  storage: Storage,
  reading: <T>(work: () => T) => T,
  { runId, after }: RunCursor,
  size: number,
): AsyncGenerator<EventRecord[], void, void> {
  const stream = reading(() => storage.stream(runId));
  if (stream.count - after <= size) {
    yield await readRunInTurns(storage, reading, { runId, after });
    return;
  }
  reading(() => checkEnd(storage, runId));
  const places = await findPlaces(storage, reading, { runId, after });
  // The cursor's own event is read too, to verify the link of the first one after it.
  let hash = ZERO_HASH;
  let page: EventRecord[] = [];
  for (const [index, { seq, offset }] of places.entries()) {
    if (index % STEP === 0) await shareTurn();
    const record = reading(() => recordAt(storage, offset, { runId, seq }));
    checkRecord(storage.file, record, seq === after ? record.prevHash : hash);
    ({ hash } = record);
    if (seq > after) page.push(record);
    if (seq === stream.count && hash !== stream.head)
      throw wrongHead(storage.file, runId, stream.count, 'recorded head');
    if (page.length < size && seq < stream.count) continue;
    yield page;
    page = [];
  }
}

/** Where the events behind the cursor are, in order, and before them that of the cursor itself. */
async function findPlaces(
  storage: Storage,
  reading: <T>(work: () => T) => T,
  { runId, after }: RunCursor,
): Promise<{ readonly seq: number; readonly offset: number }[]> {
  const { count, headOffset } = reading(() => storage.stream(runId));
  const places: { seq: number; offset: number }[] = [];
  let [seq, offset] = [count, headOffset];
  const first = Math.max(after, 1);
  const findStep = (): void => {
    for (let step = 0; step < STEP && seq >= first; step += 1) {
      places.push({ seq, offset });
      offset = recordAt(storage, offset, { runId, seq }).prevOffset;
      seq -= 1;
    }
  };
  for (; seq >= first; await shareTurn()) reading(findStep);
  return places.reverse();
}

/** A run that has a row has at least one event. */
function checkEmpty(storage: Storage, runId: string | null): void {
  if (runId === null || storage.run(runId) === null) return;
  throw new LedgerCorruptError(storage.file, 'the run is known but its stream is not', { runId, seq: 1 });
}

/**
 * Everything from a cursor to the end, each page in a transaction of its own: memory does not grow with the ledger, and
 * writers do not wait. Events never change (L3); what is appended meanwhile comes, too.
 */
export function* walkPages(
  storage: Storage,
  reading: <T>(work: () => T) => T,
  query: Pick<ReadQuery, 'after' | 'types'>,
): Generator<EventRecord> {
  const types = query.types === undefined ? null : new Set<string>(query.types);
  let after = query.after ?? 0;
  for (;;) {
    const page = reading(() => readRecords(storage, { after, limit: WALK_PAGE }));
    for (const record of page) if (types === null || types.has(record.type)) yield record;
    after = page.at(-1)?.offset ?? after;
    if (page.length < WALK_PAGE) return;
  }
}
