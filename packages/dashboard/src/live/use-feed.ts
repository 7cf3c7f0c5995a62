import type { WireEvent } from '@caisson/protocol';
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react';
import { useApp } from './app-context.ts';
import type { FeedState } from './live-feed.ts';

/** Calls back with the events of the project as they come, and when what was loaded should be loaded again. */
export function useFeed(handlers: { onEvent(event: WireEvent): void; onResync?(): void }): void {
  const { feed } = useApp();
  const onEvent = useEffectEvent(handlers.onEvent);
  const onResync = useEffectEvent(() => handlers.onResync?.());
  useEffect(() => feed.subscribe({ onEvent: (event) => onEvent(event), onResync: () => onResync() }), [feed]);
}

export function useFeedState(): FeedState {
  const { feed } = useApp();
  return useSyncExternalStore(
    (listener) => feed.subscribeState(listener),
    () => feed.state,
  );
}
