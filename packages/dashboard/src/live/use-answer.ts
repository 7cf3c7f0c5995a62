/** An answer of the host that stays current: it is asked for again when an event concerns it. */
import type { WireEvent } from '@caisson/protocol';
import { useCallback, useEffect, useEffectEvent, useRef, useState } from 'react';
import { asProblem, type ProblemError } from '../api/problem.ts';
import { useFeed } from './use-feed.ts';

export interface Answer<T> {
  /** The newest; it stays while a newer one is loaded. */
  readonly value: T | null;
  readonly problem: ProblemError | null;
  reload(): void;
}

/** Several events within this time ask once. */
const GATHER_MS = 120;

interface Loaded<T> {
  readonly key: string;
  readonly value: T | null;
  readonly problem: ProblemError | null;
}

export function useAnswer<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  concerns: (event: WireEvent) => boolean = () => false,
): Answer<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ key, value: null, problem: null });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const loadNow = useEffectEvent(load);
  useEffect(() => {
    const gone = new AbortController();
    loadNow(gone.signal).then(
      (value) => !gone.signal.aborted && setLoaded({ key, value, problem: null }),
      (error: unknown) => {
        if (gone.signal.aborted) return;
        setLoaded((before) => ({
          key,
          value: before.key === key ? before.value : null,
          problem: asProblem(error),
        }));
      },
    );
    return () => gone.abort();
  }, [key, round]);
  const later = useGathered(reload);
  useFeed({ onEvent: (event) => void (concerns(event) && later()), onResync: reload });
  return loaded.key === key ? { ...loaded, reload } : { value: null, problem: null, reload };
}

/** The callback, at most once in a while, and never lost. */
export function useGathered(run: () => void, waitMs = GATHER_MS): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const runNow = useEffectEvent(run);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      runNow();
    }, waitMs);
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [waitMs]);
}
