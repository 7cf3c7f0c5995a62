import { useCallback, useEffect, useEffectEvent, useRef } from 'react';
import { Throttled } from './throttled.ts';

/**
 * The work, at once when it is asked for, and then again at most once in a while; `work` may change. Work of another `key`
 * is aborted.
 */
export function useThrottled(
  work: (signal: AbortSignal) => Promise<void>,
  waitMs: number,
  key = '',
): () => void {
  const throttled = useRef<Throttled | null>(null);
  const workNow = useEffectEvent(work);
  useEffect(() => {
    const made = new Throttled((signal) => workNow(signal), waitMs);
    throttled.current = made;
    return () => made.stop();
  }, [waitMs, key]);
  return useCallback(() => throttled.current?.ask(), []);
}
