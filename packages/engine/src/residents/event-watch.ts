/** Endings of runs, and answers to questions, whichever process recorded them. */
import type { Clock } from '@caisson/ground';
import { TERMINAL_TYPES } from '@caisson/protocol';
import type { EventFeed, Ledger, PublishedEvent } from '../ledger/index.ts';
import { followFeed } from './follow-feed.ts';

const WATCHED = [...TERMINAL_TYPES, 'question.answered', 'question.expired'] as const;

export interface EventWatch {
  /**
   * Calls back once, after the run has ended or the question was closed. What happened before is not reported: look
   * afterwards. Returns an idempotent cancel.
   */
  once(runOrQuestion: string, listener: () => void): () => void;
  stop(): void;
}

export interface EventWatchRooms {
  readonly feed: Pick<EventFeed, 'read'>;
  readonly ledger: Pick<Ledger, 'lastOffset'>;
  readonly clock: Pick<Clock, 'setTimer'>;
}

export function createEventWatch(
  { feed, ledger, clock }: EventWatchRooms,
  onFailed: (error: Error) => void,
): EventWatch {
  const waiting = new Map<string, Set<() => void>>();
  const closing = new AbortController();
  const onEvent = (event: PublishedEvent): void => {
    const name = nameOf(event);
    const listeners = name === null ? [] : [...(waiting.get(name) ?? [])];
    if (name !== null) waiting.delete(name);
    for (const listener of listeners) listener();
  };
  const findStart = (): number => ledger.lastOffset();
  void followFeed({ feed, clock, types: WATCHED, findStart, onEvent, onFailed }, closing.signal);
  return {
    once(name, listener) {
      const listeners = waiting.get(name) ?? new Set();
      waiting.set(name, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && waiting.get(name) === listeners) waiting.delete(name);
      };
    },
    stop: () => closing.abort(),
  };
}

function nameOf(event: PublishedEvent): string | null {
  if (event.type === 'question.answered' || event.type === 'question.expired') return event.data.questionId;
  return event.runId;
}
