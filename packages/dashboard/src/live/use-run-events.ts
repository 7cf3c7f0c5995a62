/** The recorded events of a run, read once and then kept current by the feed. */
import type { EventEnvelope } from '@caisson/protocol';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useApp } from './app-context.ts';
import { asProblem, type ProblemError } from '../api/problem.ts';
import { addEvents, NO_EVENTS, type RunEvents } from './run-events.ts';
import { useFeed } from './use-feed.ts';

export interface RunStory extends RunEvents {
  readonly isLoaded: boolean;
  readonly problem: ProblemError | null;
}

export function useRunEvents(runId: string): RunStory {
  const { client } = useApp();
  const [story, setStory] = useState<RunStory>({ ...NO_EVENTS, isLoaded: false, problem: null });
  const lastSeq = useRef(0);
  const add = useCallback((coming: readonly EventEnvelope[]) => {
    setStory((before) => {
      const next = addEvents(before, coming);
      lastSeq.current = next.lastSeq;
      return next === before ? before : { ...before, ...next };
    });
  }, []);
  const read = useCallback(async () => {
    try {
      const after = lastSeq.current;
      add(await client.get<EventEnvelope[]>(`/v1/runs/${runId}/events`, after === 0 ? {} : { after }));
      setStory((before) => ({ ...before, isLoaded: true, problem: null }));
    } catch (error) {
      setStory((before) => ({ ...before, isLoaded: true, problem: asProblem(error) }));
    }
  }, [client, runId, add]);
  useEffect(() => void read(), [read, story.hasHole]);
  useFeed({
    // The page and its host are of one version.
    onEvent: (event) =>
      void (event.runId === runId && event.seq > 0 && add([event as unknown as EventEnvelope])),
    onResync: () => void read(),
  });
  return story;
}
