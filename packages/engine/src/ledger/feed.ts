/**
 * How events are read: by any number of readers, whichever process recorded them.
 * F1  Recorded events come completely and in order, after the reader's own cursor.
 * F2  Live events of this process come between them. A reader that is too slow loses them, and `gap` counts them.
 * F3  A slow reader holds up nobody and needs little memory: what was recorded it reads from the ledger when it is ready.
 * F4  A reader that stops early, or whose signal aborts, leaves nothing behind.
 */
import type { Clock } from '@caisson/ground';
import { definedOnly, EVENTS } from '@caisson/protocol';
import type { PublishedEvent, Ledger, StoredEvent } from './contract.ts';
import type { Recorder } from './recorder.ts';

const MAX_WAITING = 1000;
const PAGE = 500;
/** A change of another process that the watch did not report is found after this. */
const POLL_MS = 250;

export interface FeedQuery {
  /** Absent: everything that happens in the project, in the order of its offsets. */
  readonly runId?: string;
  /** Read what follows this `seq` (with `runId`) or `offset` (without). Default: from the beginning. */
  readonly after?: number | undefined;
  /** Ends the reading at once. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the reading when everything that was recorded until then is read. */
  readonly until?: AbortSignal | undefined;
  /** Called before the ledger is looked at again because nothing came for a while. */
  onIdle?(): Promise<void>;
}

export interface EventFeed {
  read(query?: FeedQuery): AsyncGenerator<PublishedEvent, void, void>;
  /** Ends every reading. Idempotent. */
  stop(): void;
}

interface FeedRooms {
  readonly ledger: Pick<Ledger, 'read' | 'watch'>;
  readonly recorder: Pick<Recorder, 'listen'>;
  readonly clock: Pick<Clock, 'setTimer'>;
}

export function createFeed({ ledger, recorder, clock }: FeedRooms): EventFeed {
  const readers = new Set<Reader>();
  const closing = new AbortController();
  let stopWatching: (() => void) | null = null;
  recorder.listen((event) => {
    for (const reader of readers) reader.push(event);
  });

  const orStopped = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
  const add = (reader: Reader): void => {
    readers.add(reader);
    stopWatching ??= ledger.watch(({ origin }) => {
      if (origin === 'other') for (const each of readers) each.lookAgain();
    });
  };
  const remove = (reader: Reader): void => {
    readers.delete(reader);
    if (readers.size > 0) return;
    stopWatching?.();
    stopWatching = null;
  };
  return {
    async *read(query = {}) {
      const reader = new Reader({ ledger, clock }, { ...query, signal: orStopped(query.signal) });
      add(reader);
      try {
        yield* reader.read();
      } finally {
        remove(reader);
      }
    },
    stop: () => closing.abort(),
  };
}

/** A published event, and where it belongs: after this `seq` or `offset`, or at it. */
interface Waiting {
  readonly event: PublishedEvent;
  readonly place: number;
}

class Reader {
  readonly #rooms: Omit<FeedRooms, 'recorder'>;
  readonly #query: FeedQuery;
  #cursor: number;
  #waiting: Waiting[] = [];
  #lastPlace = 0;
  #leftOut = 0;
  /** The ledger may have more than what was published here. */
  #isBehind = true;
  #wake = (): void => undefined;

  constructor(rooms: Omit<FeedRooms, 'recorder'>, query: FeedQuery) {
    this.#rooms = rooms;
    this.#query = query;
    this.#cursor = query.after ?? 0;
  }

  push(event: PublishedEvent): void {
    if (this.#query.runId !== undefined && event.runId !== this.#query.runId) return;
    if (this.#waiting.length >= MAX_WAITING) this.#shed();
    if (event.seq > 0) this.#lastPlace = this.#placeOf(event);
    this.#waiting.push({ event, place: this.#lastPlace });
    this.#wake();
  }

  lookAgain(): void {
    this.#isBehind = true;
    this.#wake();
  }

  async *read(): AsyncGenerator<PublishedEvent, void, void> {
    const { until } = this.#query;
    while (!this.#isAborted()) {
      const isLast = until?.aborted === true;
      if (isLast || this.#hasHole()) this.#isBehind = true;
      for (const event of this.#take()) {
        yield event;
        if (this.#isAborted()) return;
      }
      if (this.#isBehind || this.#waiting.length > 0) continue;
      if (isLast) return;
      if ((await this.#nextChange()) === 'idle') await this.#lookWhenIdle();
    }
  }

  #isAborted(): boolean {
    return this.#query.signal?.aborted === true;
  }

  /** Another process recorded something between what was published here. */
  #hasHole(): boolean {
    let next = this.#cursor + 1;
    for (const { event, place } of this.#waiting) {
      if (event.seq === 0 || place < next) continue;
      if (place > next) return true;
      next += 1;
    }
    return false;
  }

  #take(): PublishedEvent[] {
    const stored = this.#isBehind ? this.#readStored() : null;
    this.#isBehind = stored?.length === PAGE;
    if (stored !== null && this.#isBehind) return this.#pass(stored, []);
    const waiting = this.#waiting;
    this.#waiting = [];
    const isNew = ({ event, place }: Waiting): boolean => event.seq > 0 && place > this.#cursor;
    const recorded = stored ?? waiting.filter(isNew).map(({ event }) => event);
    const taken = this.#pass(
      recorded,
      waiting.filter(({ event }) => event.seq === 0),
    );
    return this.#leftOut === 0 ? taken : [this.#reportGap(taken[0]), ...taken];
  }

  /** Both in order; moves the cursor behind them. */
  #pass(recorded: readonly PublishedEvent[], told: readonly Waiting[]): PublishedEvent[] {
    const merged: PublishedEvent[] = [];
    const rest = told[Symbol.iterator]();
    let next = rest.next();
    for (const event of recorded) {
      this.#cursor = this.#placeOf(event);
      for (; next.done !== true && next.value.place < this.#cursor; next = rest.next())
        merged.push(next.value.event);
      merged.push(event);
    }
    for (; next.done !== true; next = rest.next()) merged.push(next.value.event);
    return merged;
  }

  #readStored(): StoredEvent[] {
    const { runId } = this.#query;
    const after = this.#cursor;
    return this.#rooms.ledger.read({ ...definedOnly({ runId }), after, limit: PAGE });
  }

  /** F3: what was recorded is in the ledger, and the rest is counted. */
  #shed(): void {
    this.#leftOut += this.#waiting.filter(({ event }) => event.seq === 0).length;
    this.#waiting = [];
    this.#isBehind = true;
  }

  #reportGap(next: PublishedEvent | undefined): PublishedEvent {
    const count = this.#leftOut;
    this.#leftOut = 0;
    const at = next?.at ?? new Date(0).toISOString();
    const place = { id: '', runId: this.#query.runId ?? null, attempt: 0, at, trace: '', seq: 0, offset: 0 };
    return { ...place, type: 'gap', version: EVENTS.gap.version, data: { count } };
  }

  #placeOf(event: PublishedEvent): number {
    return this.#query.runId === undefined ? event.offset : event.seq;
  }

  async #lookWhenIdle(): Promise<void> {
    await this.#query.onIdle?.();
    this.#isBehind = true;
  }

  #nextChange(): Promise<'woken' | 'idle'> {
    const { signal, until } = this.#query;
    if (signal?.aborted === true || until?.aborted === true) return Promise.resolve('woken');
    return new Promise((resolve) => {
      const done = (how: 'woken' | 'idle') => () => {
        cancelPoll();
        signal?.removeEventListener('abort', woken);
        until?.removeEventListener('abort', woken);
        this.#wake = () => undefined;
        resolve(how);
      };
      const woken = done('woken');
      this.#wake = woken;
      const cancelPoll = this.#rooms.clock.setTimer(POLL_MS, done('idle'));
      signal?.addEventListener('abort', woken, { once: true });
      until?.addEventListener('abort', woken, { once: true });
    });
  }
}
