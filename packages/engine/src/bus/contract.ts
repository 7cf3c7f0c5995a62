/**
 * What the bus promises. Live, in-process fan-out; the ledger is the source of truth.
 *
 * E1  `emit` never throws, never waits and runs no listener: delivery starts when the emitter's own code has returned.
 * E2  A listener that throws, rejects, hangs, subscribes or unsubscribes during delivery affects neither the emitter
 *     nor the other listeners. Failures are reported on the warning topic; a failing warning listener is not reported
 *     there again.
 * E3  On every topic, and across topics, delivery is in order of emission.
 * E4  Listeners present at emission get the event, unless they were removed before its delivery.
 * E5  A subscriber that is slower than its topic costs `maxQueue` items and gets one `gap` for what it missed.
 *
 * A payload is one object for all listeners: they must not change it.
 */
import type { BusPayloads, BusTopic } from '@caisson/protocol';

/** May be async; the bus does not wait for it, and its rejection is reported like a throw. */
export type BusListener<T extends BusTopic> = (payload: Readonly<BusPayloads[T]>) => unknown;

/** One event with its number: consecutive over all topics of this bus, starting at 1. */
export type BusEvent<T extends BusTopic> = T extends BusTopic
  ? {
      readonly kind: 'event';
      readonly seq: number;
      readonly topic: T;
      readonly payload: Readonly<BusPayloads[T]>;
    }
  : never;

/** Events `from` to `to`, both included, may have been missed; the ledger has those that are durable. */
export interface BusGap {
  readonly kind: 'gap';
  readonly from: number;
  readonly to: number;
}

export interface SubscribeOptions {
  /** At most this many events wait for the consumer. */
  readonly maxQueue: number;
  /**
   * Continue after this number, as far as the bus remembers; a `gap` reports what it does not. Default: from now on.
   */
  readonly after?: number;
  /** Ends the subscription. */
  readonly signal?: AbortSignal;
}

/** For one consumer. Events are collected from the call of `subscribe` on. `return()` ends it, idempotently. */
export interface BusSubscription<T extends BusTopic> extends AsyncIterableIterator<
  BusEvent<T> | BusGap,
  undefined
> {
  return(): Promise<IteratorResult<BusEvent<T> | BusGap, undefined>>;
}

/** What an object must have to be used with `emitSafe`. */
export interface BusLike {
  listeners(topic: BusTopic): readonly ((payload: never) => unknown)[];
}

export interface SafeEventBus extends BusLike {
  /** For the topic's owner. */
  emit<T extends BusTopic>(topic: T, payload: BusPayloads[T]): void;
  /** The same promise as `emit`, under the name that also exists for any bus-like object. */
  emitSafe<T extends BusTopic>(topic: T, payload: BusPayloads[T]): void;
  /** Adds a listener. The returned function removes this registration, idempotently. */
  on<T extends BusTopic>(topic: T, listener: BusListener<T>): () => void;
  listeners<T extends BusTopic>(topic: T): BusListener<T>[];
  subscribe<T extends BusTopic>(topics: T | readonly T[], options: SubscribeOptions): BusSubscription<T>;
  /** The number of the latest emission. */
  lastSeq(): number;
  /** Removes all listeners, drops what was not delivered to them and ends all subscriptions. */
  clear(): void;
}

export interface BusOptions {
  /** How many events a subscriber can go back with `after`. A power of two; default 1024. */
  readonly historySize?: number;
  /** How many events may wait for delivery before new ones are dropped and reported. Default 262144. */
  readonly maxPending?: number;
  /** Receives what cannot be reported on the warning topic: failures of its own listeners, and drops. */
  readonly onUnreportable?: (message: string) => void;
}
