/** The recorded events of a run, read once and then kept current by the feed. */
import type { EventEnvelope } from '@caisson/protocol';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useApp } from './app-context.ts';
import { asProblem, type ProblemError } from '../api/problem.ts';
import { addEvents, NO_EVENTS, type RunEvents } from './run-events.ts';
import { useFeed } from './use-feed.ts';
import { useThrottled } from './use-throttled.ts';

export interface RunStory extends RunEvents {
  readonly problem: ProblemError | null;
}

export function useRunEvents(runId: string): RunStory {
  const { client } = useApp();
  const [story, setStory] = useState<RunStory>({ ...NO_EVENTS, problem: null });
  const lastSeq = useRef(0);
  const add = useCallback((coming: readonly EventEnvelope[]) => {
    setStory((before) => {
      const next = addEvents(before, coming);
      lastSeq.current = next.lastSeq;
      return next === before ? before : { ...before, ...next };
    });
  }, []);
  // All pages: `addEvents` keeps the newest events, so the end of a long run is there, too.
  const read = useThrottled(async (signal) => {
    const after = lastSeq.current;
    const problem = await readPages(
      client.pages<EventEnvelope>(`/v1/runs/${runId}/events`, after === 0 ? {} : { after }, signal),
      add,
    );
    setStory((before) => ({ ...before, problem }));
  }, 0);
  useEffect(() => read(), [read, story.hasHole]);
  useFeed({
    // The page and its host are of one version.
    onEvent: (event) =>
      void (event.runId === runId && event.seq > 0 && add([event as unknown as EventEnvelope])),
    onResync: read,
  });
  return story;
}

async function readPages(
  pages: AsyncIterable<readonly EventEnvelope[]>,
  add: (page: readonly EventEnvelope[]) => void,
): Promise<ProblemError | null> {
  try {
    for await (const page of pages) add(page);
    return null;
  } catch (error) {
    return asProblem(error);
  }
}
