/** An answer of the host that stays current: it is asked for again when an event concerns it. */
import type { WireEvent } from '@caisson/protocol';
import { useEffect, useState } from 'react';
import { asProblem, type ProblemError } from '../api/problem.ts';
import { useFeed } from './use-feed.ts';
import { useThrottled } from './use-throttled.ts';

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

/** An answer that takes long comes all the same, however many events come meanwhile: it is not asked for anew before. */
export function useAnswer<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  concerns: (event: WireEvent) => boolean = () => false,
  againMs = GATHER_MS,
): Answer<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ key, value: null, problem: null });
  const reload = useThrottled(
    (signal) =>
      load(signal).then(
        (value) => {
          if (!signal.aborted) setLoaded({ key, value, problem: null });
        },
        (error: unknown) => {
          if (signal.aborted) return;
          setLoaded((before) => ({
            key,
            value: before.key === key ? before.value : null,
            problem: asProblem(error),
          }));
        },
      ),
    againMs,
    key,
  );
  useEffect(() => reload(), [reload, key]);
  useFeed({ onEvent: (event) => void (concerns(event) && reload()), onResync: reload });
  return loaded.key === key ? { ...loaded, reload } : { value: null, problem: null, reload };
}
