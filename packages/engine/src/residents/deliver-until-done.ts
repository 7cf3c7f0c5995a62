import type { Clock } from '@caisson/ground';
import { pause } from '../platform/index.ts';

/** Between two deliveries that failed; doubled each time. */
const RETRY_MS = { first: 1000, longest: 60_000 };

/** Repeats what fails. False when it was stopped before it succeeded; never rejects. */
export async function deliverUntilDone(
  { clock, warn }: { readonly clock: Pick<Clock, 'setTimer'>; warn(message: string): void },
  what: string,
  deliver: () => unknown,
  signal: AbortSignal,
): Promise<boolean> {
  for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, RETRY_MS.longest)) {
    try {
      await deliver();
      return !signal.aborted;
    } catch (error) {
      if (signal.aborted) return false;
      const why = error instanceof Error ? error.message : String(error);
      if (waitMs === RETRY_MS.first) warn(`${what} is delivered later: ${why}`);
      await pause(clock, waitMs, signal);
      if (signal.aborted) return false;
    }
  }
}
