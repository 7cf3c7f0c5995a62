/**
 * The one writer of durable events. Everything that is recorded goes through here.
 * E1  An event is on disk before a listener gets it (invariant 3), and a listener that throws disturbs no other (9).
 * E2  Within a record, order is the order of the calls: an event waits for all before it, and fails if they cannot be
 *     written.
 * E3  `keep` drops nothing. What the ledger cannot accept now is queued and written later, at the latest by `flush`.
 *     What it refuses for good, or what exceeds MAX_HELD, is counted, and `flush` records the count (`events.lost`).
 * E4  Nothing is recorded that does not fit its definition in `EVENTS`, or has a field, at any depth, that the
 *     definition does not declare: `append` rejects, `keep` counts it as lost.
 */
import type { Clock } from '@caisson/ground';
import {
  definedOnly,
  EVENTS,
  findMisfit,
  type DataOf,
  type DurableType,
  type EventContent,
  type EventType,
  type LiveType,
} from '@caisson/protocol';
import { MAX_EVENTS_PER_APPEND } from './admit-event.ts';
import type { PublishedEvent, Ledger, NewEvent, PoolLimit, StoredEvent } from './contract.ts';
import { InvalidEventError, isRefusal } from './errors.ts';
import type { EventPlace, Recorder, RunRecord } from './recorder-contract.ts';

const MAX_HELD = 10_000;

export * from './recorder-contract.ts';

export function createRecorder({
  ledger,
  clock,
}: {
  ledger: Pick<Ledger, 'append'>;
  clock: Clock;
}): Recorder {
  const listeners: ((event: PublishedEvent) => void)[] = [];
  const publish = (event: PublishedEvent): void => {
    for (const listener of listeners) callSafely(listener, event);
  };
  return {
    of: (runId, trace = '', epoch) =>
      new StreamRecord({
        publish,
        compose: (type, data, { attempt, id, at = clock.now().toISOString() }) => ({
          ...definedOnly({ id }),
          runId,
          attempt,
          type,
          version: EVENTS[type].version,
          at,
          trace,
          data,
        }),
        write(events, poolLimit) {
          const fence = runId === null || epoch === undefined ? undefined : { runId, epoch };
          return ledger.append(events, { onAdded: publish, ...definedOnly({ poolLimit, fence }) });
        },
      }),
    listen: (listener) => void listeners.push(listener),
  };
}

interface Stream {
  publish(event: PublishedEvent): void;
  compose(type: EventType, data: Record<string, unknown>, place: EventPlace): NewEvent;
  write(events: readonly NewEvent[], poolLimit?: PoolLimit): Promise<readonly StoredEvent[]>;
}

/** An entry of the queue: an event that is kept, or events that a caller waits for (none: a flush). */
type Queued =
  | { readonly kind: 'kept'; readonly event: NewEvent }
  | {
      readonly kind: 'asked';
      readonly events: readonly NewEvent[];
      readonly poolLimit: PoolLimit | undefined;
      readonly answer: PromiseWithResolvers<readonly StoredEvent[]>;
    };

class StreamRecord implements RunRecord {
  readonly #stream: Stream;
  #queue: Queued[] = [];
  #held = 0;
  #isWriting = false;
  #lost = new Map<string, number>();
  #lastAttempt = 0;

  constructor(stream: Stream) {
    this.#stream = stream;
  }

  async append<T extends DurableType>(
    type: T,
    data: DataOf<T>,
    { poolLimit, ...place }: EventPlace & { poolLimit?: PoolLimit },
  ): Promise<StoredEvent> {
    demandFit(type, data);
    const [stored] = await this.#ask([this.#stream.compose(type, data, place)], poolLimit);
    if (stored === undefined) throw new Error(`the ledger returned nothing for ${type}`);
    return stored;
  }

  async appendAll(events: readonly EventContent<DurableType>[], attempt: number) {
    for (const { type, data } of events) demandFit(type, data);
    return this.#ask(events.map(({ type, data }) => this.#stream.compose(type, data, { attempt })));
  }

  keep<T extends DurableType>(type: T, data: DataOf<T>, place: EventPlace): void {
    this.#lastAttempt = place.attempt;
    const misfit = findUnrecordable(type, data);
    if (misfit !== null) process.emitWarning(misfit);
    if (misfit !== null || this.#held >= MAX_HELD) return this.#lose(misfit ?? type);
    const event = this.#stream.compose(type, data, place);
    this.#held += 1;
    this.#queue.push({ kind: 'kept', event });
    void this.#write();
  }

  publish<T extends LiveType>(type: T, data: DataOf<T>, attempt: number): void {
    const misfit = findMisfit(type, data);
    if (misfit !== null) return process.emitWarning(misfit);
    const place = { ...this.#stream.compose(type, data, { attempt }), id: '', seq: 0, offset: 0 };
    this.#stream.publish({ ...place, type, data } as PublishedEvent);
  }

  async flush(): Promise<void> {
    await this.#ask([]);
    if (this.#lost.size === 0) return;
    const lost = this.#lost;
    this.#lost = new Map();
    const count = [...lost.values()].reduce((sum, each) => sum + each, 0);
    try {
      const data = { count, types: Object.fromEntries(lost) };
      await this.append('events.lost', data, { attempt: this.#lastAttempt });
    } catch (error) {
      for (const [type, times] of lost) this.#lose(type, times);
      throw error;
    }
  }

  #ask(events: readonly NewEvent[], poolLimit?: PoolLimit): Promise<readonly StoredEvent[]> {
    const answer = Promise.withResolvers<readonly StoredEvent[]>();
    this.#queue.push({ kind: 'asked', events, poolLimit, answer });
    void this.#write();
    return answer.promise;
  }

  /**
   * Never rejects. What is kept stays in the queue when it cannot be written; callers that wait behind it get the
   * error.
   */
  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    for (let [first] = this.#queue; first !== undefined; [first] = this.#queue) {
      if (first.kind === 'asked') {
        this.#queue.shift();
        await this.#writeAsked(first);
        continue;
      }
      try {
        await this.#writeKept();
      } catch (error) {
        const waiting = this.#queue;
        this.#queue = waiting.filter(({ kind }) => kind === 'kept');
        for (const each of waiting) if (each.kind === 'asked') each.answer.reject(error);
        break;
      }
    }
    this.#isWriting = false;
  }

  async #writeAsked({ events, poolLimit, answer }: Extract<Queued, { kind: 'asked' }>): Promise<void> {
    try {
      answer.resolve(events.length === 0 ? [] : await this.#stream.write(events, poolLimit));
    } catch (error) {
      answer.reject(error);
    }
  }

  /** The kept events in front, all at once; one by one if the ledger refuses one of them. */
  async #writeKept(): Promise<void> {
    const batch: NewEvent[] = [];
    for (const queued of this.#queue) {
      if (queued.kind === 'asked' || batch.length === MAX_EVENTS_PER_APPEND) break;
      batch.push(queued.event);
    }
    try {
      await this.#stream.write(batch);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.#writeEach(batch);
    }
    this.#drop(batch.length);
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
  }

  #lose(type: string, times = 1): void {
    this.#lost.set(type, (this.#lost.get(type) ?? 0) + times);
  }
}

function demandFit(type: EventType, data: unknown): void {
  const misfit = findUnrecordable(type, data);
  if (misfit !== null) throw new InvalidEventError(misfit);
}

function findUnrecordable(type: EventType, data: unknown): string | null {
  return findMisfit(type, data) ?? (EVENTS[type].durable ? null : `${type} is only published`);
}

function callSafely(listener: (event: PublishedEvent) => void, event: PublishedEvent): void {
  try {
    listener(event);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    process.emitWarning(`a listener threw on ${event.type}: ${what}`);
  }
}
