import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { useApp } from '../live/app-context.ts';
import { useFeed } from '../live/use-feed.ts';
import { useThrottled } from '../live/use-throttled.ts';
import { RunPager } from './run-pager.ts';
import type { RunsFilter } from './runs-filter.ts';

/** What happens is on the screen at once, and of much that happens so often. */
const AGAIN_MS = 100;
const REFRESH_MS = 5000;

/** The runs of a filter, as live as the feed is. */
export function useRuns(filter: RunsFilter): RunPager {
  const { client } = useApp();
  const key = JSON.stringify(filter);
  // The key says everything about the filter.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  const pager = useMemo(() => new RunPager(client, filter), [client, key]);
  useSyncExternalStore(pager.subscribe, () => pager.state);
  useEffect(() => {
    void pager.loadMore();
    const timer = setInterval(() => void pager.refresh(idsUnderWay(pager)), REFRESH_MS);
    return () => clearInterval(timer);
  }, [pager]);
  const changed = useRef(new Set<string>());
  const refresh = useThrottled(() => {
    const ids = changed.current;
    changed.current = new Set();
    return pager.refresh(ids);
  }, AGAIN_MS);
  const refreshHead = useThrottled(() => pager.refreshHead(), AGAIN_MS);
  useFeed({
    onEvent: ({ type, runId, seq }) => {
      if (runId === null || (seq === 0 && type !== 'run.placed')) return;
      if (type === 'dispatch.accepted') return refreshHead();
      changed.current.add(runId);
      refresh();
    },
    onResync: () => {
      refreshHead();
      for (const id of idsUnderWay(pager)) changed.current.add(id);
      refresh();
    },
  });
  return pager;
}

/** Places in the queue, and numbers of runs under way, change without an event. */
function idsUnderWay({ state }: RunPager): ReadonlySet<string> {
  const open = state.runs.filter(({ status }) => status === 'queued' || status === 'running');
  return new Set(open.slice(0, 50).map(({ runId }) => runId));
}
