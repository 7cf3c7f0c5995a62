/**
 * How events are read: by any number of readers, whichever process recorded them.
 * F1  Recorded events come completely and in order, after the reader's own cursor.
 * F2  Live events of this process, and of others if a source is given, come between them. A reader that is too slow
 *     loses them, and `gap` counts them.
 * F3  A slow reader holds up nobody and needs little memory: what was recorded it reads from the ledger when it is ready.
 * F4  A reader that stops early, or whose signal aborts, leaves nothing behind.
 */
import type { Clock } from '@caisson/ground';
import type { PublishedEvent, Ledger } from './contract.ts';
import { FeedReader, type FeedQuery } from './feed-reader.ts';
import type { EventFilter, PlacedEvent } from './live-event.ts';
import { LiveQueue } from './live-queue.ts';
import type { Recorder } from './recorder.ts';
import { createSharedReads } from './shared-reads.ts';

export type { FeedQuery } from './feed-reader.ts';

export interface EventFeed {
  read(query?: FeedQuery): AsyncGenerator<PublishedEvent, void, void>;
  /** Only the live events of this process, from now on: for readers that read the ledger themselves. */
  live(filter: EventFilter, signal: AbortSignal): AsyncGenerator<PlacedEvent, void, void>;
  /** Ends every reading. Idempotent. */
  stop(): void;
}

interface FeedRooms {
  readonly ledger: Pick<Ledger, 'read' | 'pageRun' | 'watch'>;
  readonly recorder: Pick<Recorder, 'listen'>;
  readonly clock: Pick<Clock, 'setTimer'>;
}

export function createFeed({ ledger, recorder, clock }: FeedRooms): EventFeed {
  const readers = new Set<FeedReader>();
  const queues = new Set<LiveQueue>();
  const closing = new AbortController();
  const shared = createSharedReads(ledger);
  let stopWatching: (() => void) | null = null;
  let lastOffset = 0;
  recorder.listen((event) => {
    shared.forget();
    lastOffset = Math.max(lastOffset, event.offset);
    const placed = { event, place: event.seq > 0 ? event.offset : lastOffset };
    for (const reader of readers) reader.push(placed);
    for (const queue of queues) queue.push(placed);
  });

  const orStopped = (signal: AbortSignal | undefined): AbortSignal =>
    signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
  const add = (reader: FeedReader): void => {
    readers.add(reader);
    stopWatching ??= ledger.watch(({ origin }) => {
      shared.forget();
      if (origin === 'other') for (const each of readers) each.lookAgain();
    });
  };
  const remove = (reader: FeedReader): void => {
    readers.delete(reader);
    if (readers.size > 0) return;
    stopWatching?.();
    stopWatching = null;
  };
  return {
    async *read(query = {}) {
      const reader = new FeedReader({ ledger, shared, clock }, { ...query, signal: orStopped(query.signal) });
      add(reader);
      const stopOthers = query.others?.((live) => {
        shared.forget();
        reader.pushOfOther(live);
      });
      try {
        yield* reader.read();
      } finally {
        stopOthers?.();
        remove(reader);
      }
    },
    async *live(filter, signal) {
      const queue = new LiveQueue(filter, orStopped(signal));
      queues.add(queue);
      try {
        yield* queue.read();
      } finally {
        queues.delete(queue);
      }
    },
    stop: () => closing.abort(),
  };
}
