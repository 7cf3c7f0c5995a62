/** Reads the feed until it is aborted. A read that fails is repeated after a moment, from behind the last event. */
import type { Clock } from '@caisson/ground';
import type { EventType } from '@caisson/protocol';
import type { EventFeed, PublishedEvent } from '../ledger/index.ts';
import { pause } from '../platform/index.ts';

const AGAIN_AFTER_MS = 1000;

export interface FollowedFeed {
  readonly feed: Pick<EventFeed, 'read'>;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly types: readonly EventType[];
  /** Where the first read begins. */
  findStart(): number;
  onEvent(event: PublishedEvent): void;
  /** A read failed; not called again before one has worked. */
  onFailed(error: Error): void;
}

export async function followFeed(followed: FollowedFeed, signal: AbortSignal): Promise<void> {
  const { feed, clock, types, findStart, onEvent, onFailed } = followed;
  let after: number | null = null;
  let isFailing = false;
  while (!signal.aborted) {
    try {
      after ??= findStart();
      for await (const event of feed.read({ after, types: [...types], signal })) {
        isFailing = false;
        after = event.offset;
        onEvent(event);
      }
      return;
    } catch (error) {
      if (!isFailing) onFailed(error as Error);
      isFailing = true;
      await pause(clock, AGAIN_AFTER_MS, signal);
    }
  }
}
