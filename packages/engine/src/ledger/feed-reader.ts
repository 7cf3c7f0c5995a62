/** One reader of the feed (F1 to F4 in `feed.ts`): its cursor, and what waits for it. */
import { shareTurn, type Clock } from '@caisson/ground';
import type { PublishedEvent, Ledger, StoredEvent } from './contract.ts';
import {
  composeGap,
  countLive,
  createFilter,
  type EventFilter,
  type LiveSource,
  type PlacedEvent,
} from './live-event.ts';
import { MAX_WAITING } from './live-queue.ts';
import type { SharedReads } from './shared-reads.ts';

const PAGE = 500;
/** So many are read in one piece of a turn. */
const PIECE = 50;
/** A change of another process that the watch did not report is found after this. */
const POLL_MS = 250;

export interface FeedQuery extends EventFilter {
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
  /** Called with each recorded event as its turn comes, also with those that the filter leaves out. */
  onRecorded?(event: PublishedEvent): unknown;
  /** Live events of other processes; those of this one come anyway. */
  readonly others?: LiveSource | undefined;
}

interface ReaderRooms {
  readonly ledger: Pick<Ledger, 'read' | 'pageRun'>;
  readonly shared: SharedReads;
  readonly clock: Pick<Clock, 'setTimer'>;
}

interface Stored {
  readonly events: readonly StoredEvent[];
  /** Nothing more was there when the reading of these began. */
  readonly isAll: boolean;
}

export class FeedReader {
  readonly #rooms: ReaderRooms;
  readonly #query: FeedQuery;
  readonly #passes: (event: PublishedEvent) => boolean;
  #cursor: number;
  #waiting: PlacedEvent[] = [];
  #leftOut = 0;
  #pages: ReturnType<Ledger['pageRun']> | null = null;
  /** The ledger may have more than what was published here. */
  #isBehind = true;
  #wake = (): void => undefined;

  constructor(rooms: ReaderRooms, query: FeedQuery) {
    this.#rooms = rooms;
    this.#query = query;
    this.#passes = createFilter(query);
    this.#cursor = query.after ?? 0;
  }

  push(placed: PlacedEvent): void {
    const { event } = placed;
    if (event.type !== 'gap' && this.#query.runId !== undefined && event.runId !== this.#query.runId) return;
    if (event.seq === 0 && !this.#passes(event)) return;
    if (this.#waiting.length >= MAX_WAITING) this.#shed();
    this.#waiting.push(placed);
    this.#wake();
  }

  /** What that process recorded before it is in the ledger, and comes first. */
  pushOfOther(live: PlacedEvent): void {
    this.#isBehind = true;
    this.push(live);
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
      for (const event of await this.#take()) {
        if (event.seq > 0) this.#query.onRecorded?.(event);
        if (!this.#passes(event)) continue;
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
    for (const { event } of this.#waiting) {
      const position = this.#positionOf(event);
      if (event.seq === 0 || position < next) continue;
      if (position > next) return true;
      next += 1;
    }
    return false;
  }

  /** What comes while the ledger is read waits for the next time: the read may be older than it. */
  async #take(): Promise<PublishedEvent[]> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const isBehind = this.#isBehind;
    this.#isBehind = false;
    const stored = isBehind ? await this.#readStored() : null;
    if (stored?.isAll === false) {
      this.#isBehind = true;
      this.#waiting.unshift(...waiting);
      return this.#pass(stored.events, []);
    }
    const isNew = ({ event }: PlacedEvent): boolean =>
      event.seq > 0 && this.#positionOf(event) > this.#cursor;
    const recorded = stored?.events ?? waiting.filter(isNew).map(({ event }) => event);
    const told = waiting.filter(({ event }) => event.seq === 0);
    const taken = this.#pass(recorded, [
      ...told,
      ...this.#takeLiveBefore(stored?.events.at(-1)?.offset ?? 0),
    ]);
    return this.#leftOut === 0 ? taken : [this.#reportGap(taken[0]), ...taken];
  }

  /** Live events that came while the ledger was read, and belong between what was found there. */
  #takeLiveBefore(offset: number): PlacedEvent[] {
    const belongs = ({ event, place }: PlacedEvent): boolean => event.seq === 0 && place < offset;
    const told = this.#waiting.filter(belongs);
    if (told.length > 0) this.#waiting = this.#waiting.filter((each) => !belongs(each));
    return told;
  }

  /** Both in order; moves the cursor behind them. */
  #pass(recorded: readonly PublishedEvent[], told: readonly PlacedEvent[]): PublishedEvent[] {
    const merged: PublishedEvent[] = [];
    const rest = told[Symbol.iterator]();
    let next = rest.next();
    for (const event of recorded) {
      this.#cursor = this.#positionOf(event);
      for (; next.done !== true && next.value.place < event.offset; next = rest.next())
        merged.push(next.value.event);
      merged.push(event);
    }
    for (; next.done !== true; next = rest.next()) merged.push(next.value.event);
    return merged;
  }

  /** A page, read in turns. The last page has all that is there now, so it is not another reader's. */
  async #readStored(): Promise<Stored> {
    const { runId, until } = this.#query;
    if (runId !== undefined) return await this.#readNextOfRun(runId);
    const source = until?.aborted === true ? this.#rooms.ledger : this.#rooms.shared;
    const page: StoredEvent[] = [];
    for (let after = this.#cursor; page.length < PAGE; after = page.at(-1)?.offset ?? after) {
      await shareTurn();
      const piece = source.read({ after, limit: Math.min(PIECE, PAGE - page.length) });
      page.push(...piece);
      if (piece.length < PIECE) break;
    }
    return { events: page, isAll: page.length < PAGE };
  }

  /** What was recorded since a way of several pages began is behind its end. */
  async #readNextOfRun(runId: string): Promise<Stored> {
    const isFirst = this.#pages === null;
    this.#pages ??= this.#rooms.ledger.pageRun(runId, this.#cursor, PAGE);
    const { value: events = [] } = await this.#pages.next();
    const isLast = events.length < PAGE;
    if (isLast) this.#pages = null;
    return { events, isAll: isFirst && isLast };
  }

  /** F3: what was recorded is in the ledger, and the rest is counted. */
  #shed(): void {
    this.#leftOut += this.#waiting.reduce((sum, each) => sum + countLive(each), 0);
    this.#waiting = [];
    this.#isBehind = true;
  }

  #reportGap(next: PublishedEvent | undefined): PublishedEvent {
    const count = this.#leftOut;
    this.#leftOut = 0;
    return composeGap(count, this.#query.runId ?? null, next?.at);
  }

  #positionOf(event: PublishedEvent): number {
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
