import { setImmediate } from 'node:timers/promises';

const SLICE_MS = 10;

/**
 * Synchronous file calls are several times faster than queued ones for small files, but they block the event loop. The
 * returned function yields to other work once a slice of time is used up.
 */
export function createPacer(signal?: AbortSignal): () => Promise<void> | undefined {
  let sliceEnd = performance.now() + SLICE_MS;
  return () => {
    signal?.throwIfAborted();
    if (performance.now() < sliceEnd) return undefined;
    return setImmediate().then(() => {
      sliceEnd = performance.now() + SLICE_MS;
    });
  };
}
