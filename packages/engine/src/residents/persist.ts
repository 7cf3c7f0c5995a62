import type { Clock } from '@caisson/ground';
import { isOutage } from '../ledger/index.ts';
import { pause } from '../platform/index.ts';

const AGAIN_AFTER_MS = 1000;

/** Repeats what the ledger cannot accept now (it is full, or locked) until it can, or until the signal aborts. */
export async function persist<T>(
  { clock, warn }: { readonly clock: Clock; warn(message: string): void },
  signal: AbortSignal,
  write: () => Promise<T>,
  what = 'a thread',
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isOutage(error) || signal.aborted) throw error;
      if (tries === 1) warn(`${what} waits for the ledger: ${(error as Error).message}`);
      await pause(clock, AGAIN_AFTER_MS, signal);
    }
  }
}
