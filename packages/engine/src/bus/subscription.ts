/**
 * A bounded queue between the bus and one consumer.
 *
 * following ──queue full──► missing (events are counted, not kept) ──consumer has emptied the queue──► `gap`, following
 * any ──return(), signal or clear()──► closed: what was queued is still delivered, then the iteration is done.
 */
import type { BusTopic } from '@caisson/protocol';

import type { BusEvent, BusGap, BusSubscription, SubscribeOptions } from './contract.ts';
import type { History } from './history.ts';

export interface EventSink {
  put(seq: number, topic: BusTopic, payload: unknown): void;
  close(): void;
  isClosed(): boolean;
}

export interface SubscriptionSource {
  readonly history: History;
  readonly lastSeq: number;
  /** Called once, when the subscription is closed. */
  detach(sink: EventSink): void;
}

export function createSubscription<T extends BusTopic>(
  topics: readonly T[],
  options: SubscribeOptions,
  source: SubscriptionSource,
): { subscription: BusSubscription<T>; sink: EventSink } {
  checkOptions(options, source.lastSeq);
  const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
  const { maxQueue, signal } = options;
  const waiting: ((result: IteratorResult<BusEvent<T> | BusGap, undefined>) => void)[] = [];
  const queue = createQueue<T>(maxQueue);
  let isClosed = false;
  /** Emissions up to here are either replayed below or before this subscription's time. */
  const startSeq = source.lastSeq;
  const offer = (seq: number, topic: BusTopic, payload: unknown): void => {
    const resolve = waiting.shift();
    if (resolve === undefined) queue.offer(seq, topic, payload);
    else resolve({ done: false, value: { kind: 'event', seq, topic, payload } as BusEvent<T> });
  };

  const sink: EventSink = {
    put(seq, topic, payload) {
      if (!isClosed && seq > startSeq) offer(seq, topic, payload);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      signal?.removeEventListener('abort', sink.close);
      source.detach(sink);
      for (const resolve of waiting.splice(0)) resolve(done);
    },
    isClosed: () => isClosed,
  };
  const subscription: BusSubscription<T> = {
    [Symbol.asyncIterator]: () => subscription,
    next() {
      const item = queue.take();
      if (item !== null) return Promise.resolve({ done: false, value: item });
      if (isClosed) return Promise.resolve(done);
      return new Promise((resolve) => void waiting.push(resolve));
    },
    return() {
      sink.close();
      queue.clear();
      return Promise.resolve(done);
    },
  };

  if (options.after !== undefined) replay(options.after, topics, source, queue);
  if (signal?.aborted === true) sink.close();
  else signal?.addEventListener('abort', sink.close, { once: true });
  return { subscription, sink };
}

function replay<T extends BusTopic>(
  after: number,
  topics: readonly T[],
  { history, lastSeq }: SubscriptionSource,
  queue: Queue<T>,
): void {
  const oldest = history.oldest(lastSeq);
  if (after + 1 < oldest) queue.addGap({ kind: 'gap', from: after + 1, to: oldest - 1 });
  for (let seq = Math.max(after + 1, oldest); seq <= lastSeq; seq++) {
    const topic = history.topicOf(seq);
    if (topics.some((wanted) => wanted === topic)) queue.offer(seq, topic, history.payloadOf(seq));
  }
}

interface Queue<T extends BusTopic> {
  /** Keeps the event, or counts it as missed where the queue is full. */
  offer(seq: number, topic: BusTopic, payload: unknown): void;
  addGap(gap: BusGap): void;
  /** The oldest item; what was missed comes last; null when there is nothing. */
  take(): BusEvent<T> | BusGap | null;
  clear(): void;
}

function createQueue<T extends BusTopic>(maxQueue: number): Queue<T> {
  let items: (BusEvent<T> | BusGap)[] = [];
  let head = 0;
  let missed: { from: number; to: number } | null = null;
  return {
    offer(seq, topic, payload) {
      if (missed !== null) missed.to = seq;
      else if (items.length - head >= maxQueue) missed = { from: seq, to: seq };
      else items.push({ kind: 'event', seq, topic, payload } as BusEvent<T>);
    },
    addGap: (gap) => void items.push(gap),
    take() {
      const item = items[head];
      if (item === undefined) {
        const gap: BusGap | null = missed === null ? null : { kind: 'gap', ...missed };
        missed = null;
        return gap;
      }
      head += 1;
      if (head === items.length || head > 1024) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
    clear() {
      items = [];
      head = 0;
      missed = null;
    },
  };
}

function checkOptions({ maxQueue, after }: SubscribeOptions, lastSeq: number): void {
  if (!Number.isInteger(maxQueue) || maxQueue < 1) {
    throw new RangeError(`maxQueue must be a whole number above 0, got ${maxQueue}.`);
  }
  if (after === undefined) return;
  if (!Number.isInteger(after) || after < 0 || after > lastSeq) {
    throw new RangeError(
      `Cannot continue after ${after}: this bus has numbered 1 to ${lastSeq}. Numbers of another host's bus do not ` +
        'carry over; continue from the ledger instead.',
    );
  }
}
