// The whole ledger in its order. What is remembered of a stream is dropped once all of it was seen, so that memory does not
// grow with the ledger, only with the runs that were under way at the same time.

import { checkEnd, checkRecord, holeAt, misplaced, missing, wrongHead } from './chain-checks.ts';
import { LedgerCorruptError } from './errors.ts';
import { ZERO_HASH, type EventRecord } from './event-record.ts';
import type { Storage } from './storage.ts';

/**
 * So many events are read at once. What a walk holds at a time is what survives V8's collections of young objects, and V8 makes
 * room for twice as much whenever enough survived: with 128 events that room became 134 MB, with 4 it is half of it.
 */
export const WALK_PAGE = 4;
/** So many streams are remembered before those that are whole are looked for; few, for the same reason. */
const MIN_OPEN = 2;

/**
 * Everything from a cursor to the end, in global order; throws where it is damaged. `onWhole` is called once for each
 * stream, after its last event was given.
 */
export function* walkAll(
  storage: Storage,
  afterOffset: number,
  onWhole: (runId: string | null) => void = () => undefined,
): Generator<EventRecord> {
  const { file } = storage;
  const total = storage.total();
  const open = new OpenStreams(storage, onWhole);
  let offset = afterOffset;
  let newest: string | null = null;
  for (;;) {
    const page = storage.eventsFrom(offset, WALK_PAGE);
    for (const record of page) {
      if (record.offset !== offset + 1) throw holeAt(file, offset + 1);
      open.add(record);
      newest = record.hash;
      offset = record.offset;
      yield record;
    }
    if (page.length < WALK_PAGE) break;
    open.dropWhole();
  }
  if (offset < total.count) throw holeAt(file, offset + 1);
  if (offset > total.count && offset > afterOffset) {
    throw new LedgerCorruptError(file, `it holds ${offset} events but was counted at ${total.count}`);
  }
  if (newest !== null && newest !== total.head) {
    throw new LedgerCorruptError(file, 'its newest event is not the one that was recorded last');
  }
  open.end();
}

type Head = Pick<EventRecord, 'seq' | 'hash' | 'offset'>;

/** The streams of which more may come. */
class OpenStreams {
  readonly #storage: Storage;
  readonly #onWhole: (runId: string | null) => void;
  readonly #heads = new Map<string | null, Head>();
  #limit = MIN_OPEN;

  constructor(storage: Storage, onWhole: (runId: string | null) => void) {
    this.#storage = storage;
    this.#onWhole = onWhole;
  }

  /** Throws unless the record continues its stream. */
  add(record: EventRecord): void {
    const { runId, seq, hash, offset } = record;
    const { file } = this.#storage;
    const before = this.#heads.get(runId) ?? predecessor(this.#storage, record);
    if (seq !== before.seq + 1) throw missing(file, runId, before.seq + 1);
    checkRecord(file, record, before.hash);
    if (record.prevOffset !== before.offset)
      throw new LedgerCorruptError(file, 'the event does not lead to the one before it', { runId, seq });
    this.#heads.set(runId, { seq, hash, offset });
  }

  dropWhole(): void {
    if (this.#heads.size < this.#limit) return;
    for (const [runId, head] of this.#heads)
      if (head.seq === this.#storage.stream(runId).count) this.#close(runId, head);
    this.#limit = Math.max(MIN_OPEN, 2 * this.#heads.size);
  }

  end(): void {
    for (const [runId, head] of this.#heads) this.#close(runId, head);
  }

  #close(runId: string | null, head: Head): void {
    checkStreamEnd(this.#storage, runId, head);
    this.#heads.delete(runId);
    this.#onWhole(runId);
  }
}

function checkStreamEnd(storage: Storage, runId: string | null, head: Head): void {
  const stream = storage.stream(runId);
  if (head.seq < stream.count) throw missing(storage.file, runId, head.seq + 1);
  if (head.hash !== stream.head || head.offset !== stream.headOffset)
    throw wrongHead(storage.file, runId, head.seq, 'recorded head');
  checkEnd(storage, runId);
}

function predecessor(storage: Storage, record: EventRecord): Head {
  if (record.seq === 1) return { seq: 0, hash: ZERO_HASH, offset: 0 };
  const before = storage.eventAt(record.prevOffset);
  if (before === null) throw missing(storage.file, record.runId, record.seq - 1);
  if (before.runId !== record.runId) throw misplaced(storage.file, record.runId, record.seq - 1, before);
  return { seq: before.seq, hash: before.hash, offset: before.offset };
}
