/**
 * A bounded queue between the bus and one consumer.
 *
 * following ──queue full──► missing (events are counted, not kept) ──consumer has emptied the queue──► `gap`, following
 * any ──return(), signal or clear()──► closed: what was queued is still handed out, then the iteration is done.
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
  type Item = BusEvent<T> | BusGap;
  const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
  const { maxQueue, signal } = options;
  const waiting: ((result: IteratorResult<Item, undefined>) => void)[] = [];
  let queue: Item[] = [];
  let head = 0;
  let missed: { from: number; to: number } | null = null;
  let isClosed = false;
  /** Emissions up to here are either replayed below or before this subscription's time. */
  const startSeq = source.lastSeq;

  const add = (item: Item): void => {
    const resolve = waiting.shift();
    if (resolve === undefined) queue.push(item);
    else resolve({ done: false, value: item });
  };
  const offer = (seq: number, topic: BusTopic, payload: unknown): void => {
    if (missed !== null) missed.to = seq;
    else if (queue.length - head >= maxQueue) missed = { from: seq, to: seq };
    else add({ kind: 'event', seq, topic, payload } as BusEvent<T>);
  };
  const take = (): Item | null => {
    if (head < queue.length) {
      const item = queue[head++] as Item;
      if (head === queue.length || head > 1024) {
        queue = queue.slice(head);
        head = 0;
      }
      return item;
    }
    if (missed === null) return null;
    const gap: BusGap = { kind: 'gap', ...missed };
    missed = null;
    return gap;
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
      const item = take();
      if (item !== null) return Promise.resolve({ done: false, value: item });
      if (isClosed) return Promise.resolve(done);
      return new Promise((resolve) => void waiting.push(resolve));
    },
    return() {
      sink.close();
      queue = [];
      head = 0;
      missed = null;
      return Promise.resolve(done);
    },
  };

  if (options.after !== undefined) replay(options.after, topics, source, add, offer);
  if (signal?.aborted === true) sink.close();
  else signal?.addEventListener('abort', sink.close, { once: true });
  return { subscription, sink };
}

function replay(
  after: number,
  topics: readonly BusTopic[],
  { history, lastSeq }: SubscriptionSource,
  add: (gap: BusGap) => void,
  offer: (seq: number, topic: BusTopic, payload: unknown) => void,
): void {
  const oldest = history.oldest(lastSeq);
  if (after + 1 < oldest) add({ kind: 'gap', from: after + 1, to: oldest - 1 });
  for (let seq = Math.max(after + 1, oldest); seq <= lastSeq; seq++) {
    const topic = history.topicOf(seq);
    if (topics.includes(topic)) offer(seq, topic, history.payloadOf(seq));
  }
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
