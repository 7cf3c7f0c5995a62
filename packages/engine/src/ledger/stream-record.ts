import type { Clock } from '@caisson/ground';
import {
  EVENTS,
  findMisfit,
  type DataOf,
  type DurableType,
  type EventType,
  type LiveType,
} from '@caisson/protocol';
import { MAX_EVENTS_PER_APPEND } from './admit-event.ts';
import type { PublishedEvent, NewEvent, PoolLimit, StoredEvent } from './contract.ts';
import { InvalidEventError, isRefusal } from './errors.ts';
import type { EventPlace, PastContent, RunRecord } from './recorder-contract.ts';

const MAX_HELD = 10_000;
/** How long a kept event waits for others. A person does not notice it. */
const SHORT_WAIT_MS = 25;
/** For one that is mostly the last but one. */
const LONG_WAIT_MS = 500;

/** Where the events of a record go. */
export interface Stream {
  publish(event: PublishedEvent): void;
  /** The records that keep something that is not written yet: events, or the count of lost ones. */
  readonly holding: Set<RunRecord>;
  setTimer: Clock['setTimer'];
  compose(type: EventType, data: Record<string, unknown>, place: EventPlace): NewEvent;
  write(events: readonly NewEvent[], poolLimit?: PoolLimit): Promise<readonly StoredEvent[]>;
}

interface Asked {
  readonly kind: 'asked';
  readonly events: readonly NewEvent[];
  readonly poolLimit?: PoolLimit | undefined;
  /** What was lost is recorded before these. */
  readonly isLast?: boolean;
  readonly answer: PromiseWithResolvers<readonly StoredEvent[]>;
}

/** An entry of the queue: an event that is kept, or events that a caller waits for (none: a flush). */
type Queued = { readonly kind: 'kept'; readonly event: NewEvent } | Asked;

type AskOptions = Pick<Asked, 'poolLimit' | 'isLast'>;

/** The queue of one run; `recorder.ts` has its promises. */
export class StreamRecord implements RunRecord {
  readonly #stream: Stream;
  #queue: Queued[] = [];
  #held = 0;
  #isWriting = false;
  #lost = new Map<string, number>();
  #lastAttempt = 0;
  #wait: { readonly ms: number; cancel(): void } | null = null;

  constructor(stream: Stream) {
    this.#stream = stream;
  }

  async append<T extends DurableType>(
    type: T,
    data: DataOf<T>,
    { poolLimit, ...place }: EventPlace & { poolLimit?: PoolLimit },
  ): Promise<StoredEvent> {
    demandFit(type, data);
    const [stored] = await this.#ask([this.#stream.compose(type, data, place)], { poolLimit });
    if (stored === undefined) throw new Error(`the ledger returned nothing for ${type}`);
    return stored;
  }

  appendAll(events: readonly PastContent[], attempt: number) {
    return this.#askAll(events, attempt);
  }

  appendLast(events: readonly PastContent[], attempt: number) {
    return this.#askAll(events, attempt, { isLast: true });
  }

  keep<T extends DurableType>(type: T, data: DataOf<T>, place: EventPlace): void {
    if (this.#hold(type, data, place)) this.#writeWithin(SHORT_WAIT_MS);
  }

  keepWithNext<T extends DurableType>(type: T, data: DataOf<T>, place: EventPlace): void {
    if (this.#hold(type, data, place)) this.#writeWithin(LONG_WAIT_MS);
  }

  publish<T extends LiveType>(type: T, data: DataOf<T>, attempt: number): void {
    const misfit = findMisfit(type, data);
    if (misfit !== null) return process.emitWarning(misfit);
    const place = { ...this.#stream.compose(type, data, { attempt }), id: '', seq: 0, offset: 0 };
    this.#stream.publish({ ...place, type, data } as PublishedEvent);
  }

  async flush(): Promise<void> {
    await this.#ask([], { isLast: true });
  }

  async #askAll(events: readonly PastContent[], attempt: number, options: AskOptions = {}) {
    for (const { type, data } of events) demandFit(type, data);
    return this.#ask(
      events.map(({ type, data, ...time }) => this.#stream.compose(type, data, { attempt, ...time })),
      options,
    );
  }

  #ask(events: readonly NewEvent[], options: AskOptions): Promise<readonly StoredEvent[]> {
    const answer = Promise.withResolvers<readonly StoredEvent[]>();
    this.#queue.push({ kind: 'asked', events, ...options, answer });
    void this.#write();
    return answer.promise;
  }

  #hold<T extends DurableType>(type: T, data: DataOf<T>, place: EventPlace): boolean {
    this.#lastAttempt = place.attempt;
    const misfit = findUnrecordable(type, data);
    if (misfit !== null) process.emitWarning(misfit);
    if (misfit !== null || this.#held >= MAX_HELD) {
      this.#lose(misfit ?? type);
      return false;
    }
    this.#held += 1;
    this.#stream.holding.add(this);
    this.#queue.push({ kind: 'kept', event: this.#stream.compose(type, data, place) });
    return true;
  }

  #writeWithin(ms: number): void {
    if (this.#held >= MAX_EVENTS_PER_APPEND) return void this.#write();
    if (this.#wait !== null && this.#wait.ms <= ms) return;
    this.#wait?.cancel();
    const write = (): void => {
      this.#wait = null;
      void this.#write();
    };
    this.#wait = { ms, cancel: this.#stream.setTimer(ms, write) };
  }

  /**
   * Never rejects. What is kept stays in the queue when it cannot be written; callers that wait behind it get the
   * error.
   */
  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#wait?.cancel();
    this.#wait = null;
    while (this.#queue.length > 0)
      try {
        await this.#writeNext();
      } catch (error) {
        const waiting = this.#queue;
        this.#queue = waiting.filter(({ kind }) => kind === 'kept');
        for (const each of waiting) if (each.kind === 'asked') each.answer.reject(error);
        break;
      }
    this.#isWriting = false;
  }

  /** The kept events in front, with what a caller waits for behind them; apart if the ledger refuses one of them (E4). */
  async #writeNext(): Promise<void> {
    const { kept, asked } = this.#front();
    const lost = asked?.isLast === true ? this.#takeLost() : null;
    const before = lost === null ? kept : [...kept, lost.event];
    try {
      const events = [...before, ...(asked?.events ?? [])];
      const stored = events.length === 0 ? [] : await this.#stream.write(events, asked?.poolLimit);
      this.#drop(kept.length);
      if (asked === undefined) return;
      this.#queue.shift();
      asked.answer.resolve(stored.slice(before.length));
    } catch (error) {
      for (const [type, times] of lost?.types ?? []) this.#lose(type, times);
      if (kept.length > 0 && !isRefusal(error)) throw error;
      if (kept.length > 0) return this.#writeEach(kept);
      this.#queue.shift();
      asked?.answer.reject(error);
    }
  }

  #front(): { readonly kept: readonly NewEvent[]; readonly asked: Asked | undefined } {
    const kept: NewEvent[] = [];
    for (const queued of this.#queue) {
      const room = MAX_EVENTS_PER_APPEND - kept.length;
      if (queued.kind === 'asked' && (kept.length === 0 || queued.events.length < room))
        return { kept, asked: queued };
      if (queued.kind === 'asked' || room === 0) break;
      kept.push(queued.event);
    }
    return { kept, asked: undefined };
  }

  async #writeEach(batch: readonly NewEvent[]): Promise<void> {
    for (const event of batch) {
      await this.#stream.write([event]).catch((error: unknown) => {
        if (!isRefusal(error)) throw error;
        this.#lose(event.type);
      });
      this.#drop(1);
    }
  }

  #drop(count: number): void {
    this.#queue.splice(0, count);
    this.#held -= count;
    if (this.#held === 0 && this.#lost.size === 0) this.#stream.holding.delete(this);
  }

  /** As an event to be recorded; what becomes lost meanwhile is counted anew. */
  #takeLost(): { readonly event: NewEvent; readonly types: ReadonlyMap<string, number> } | null {
    if (this.#lost.size === 0) return null;
    const types = this.#lost;
    this.#lost = new Map();
    const count = [...types.values()].reduce((sum, each) => sum + each, 0);
    const data = { count, types: Object.fromEntries(types) };
    return { event: this.#stream.compose('events.lost', data, { attempt: this.#lastAttempt }), types };
  }

  #lose(type: string, times = 1): void {
    this.#lost.set(type, (this.#lost.get(type) ?? 0) + times);
    this.#stream.holding.add(this); // the count has to be recorded
  }
}

function demandFit(type: EventType, data: unknown): void {
  const misfit = findUnrecordable(type, data);
  if (misfit !== null) throw new InvalidEventError(misfit);
}

function findUnrecordable(type: EventType, data: unknown): string | null {
  return findMisfit(type, data) ?? (EVENTS[type].durable ? null : `${type} is only published`);
}
