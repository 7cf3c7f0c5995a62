import { useCallback, useEffect, useEffectEvent, useRef } from 'react';
import { Throttled } from './throttled.ts';

/** The work, at once when it is asked for, and then again at most once in a while; `work` may change. */
export function useThrottled(work: () => Promise<void>, waitMs: number): () => void {
  const throttled = useRef<Throttled | null>(null);
  const workNow = useEffectEvent(work);
  useEffect(() => {
    const made = new Throttled(() => workNow(), waitMs);
    throttled.current = made;
    return () => made.stop();
  }, [waitMs]);
  return useCallback(() => throttled.current?.ask(), []);
}
