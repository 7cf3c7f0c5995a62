import type { Clock } from '@caisson/ground';
import type { Ledger } from './contract.ts';

const POLL_MS = 250;

/** Resolves when anything was committed by anyone, after a short poll, or when aborted. */
export function nextChange(
  { ledger, clock }: { readonly ledger: Pick<Ledger, 'watch'>; readonly clock: Pick<Clock, 'setTimer'> },
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stopWatching();
      cancelPoll();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const stopWatching = ledger.watch(done);
    const cancelPoll = clock.setTimer(POLL_MS, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
