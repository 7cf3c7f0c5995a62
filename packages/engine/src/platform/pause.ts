import type { Clock } from '@caisson/ground';

/** Resolves after that time, or at once when aborted. */
export function pause(clock: Pick<Clock, 'setTimer'>, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.setTimer(ms, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
