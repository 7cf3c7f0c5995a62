import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { LiveNumbers } from './run-metrics.ts';

/** An idle host is not woken for it more often than once a second. */
const RESOLUTION_MS = 1000;
const NANOSECONDS = 1e9;

export interface LoopWatch {
  /** Since it began: several readers get the same. */
  read(): LiveNumbers['loopDelay'];
  stop(): void;
}

export function watchLoop(): LoopWatch {
  const watch = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  watch.enable();
  return {
    read() {
      return { mean: lateness(watch.mean), max: lateness(watch.max) };
    },
    stop: () => void watch.disable(),
  };
}

/** The watch counts the time between two looks; not a number before the first. */
function lateness(nanoseconds: number): number {
  return Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000) : 0;
}
