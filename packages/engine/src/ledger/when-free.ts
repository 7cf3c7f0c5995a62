import { createSequence } from '@caisson/ground';
import type { Ledger } from './contract.ts';
import { LedgerBusyError } from './errors.ts';
import { DEFAULT_PATIENCE_MS } from './group-commit.ts';
import type { Storage } from './storage.ts';

const PAUSE_MS = 25;

/** One after the other: of many that wait only the first one tries, or their tries together would hold the event loop. */
export function createWhenFree(
  storage: Pick<Storage, 'briefly'>,
  patienceMs = DEFAULT_PATIENCE_MS,
): Ledger['whenFree'] {
  const inOrder = createSequence();
  return (work) => {
    const untilMs = performance.now() + patienceMs;
    return inOrder(async () => {
      for (;;) {
        try {
          return storage.briefly(work);
        } catch (error) {
          if (!(error instanceof LedgerBusyError) || performance.now() >= untilMs) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    });
  };
}
