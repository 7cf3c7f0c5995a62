import { createSequence } from '@caisson/ground';
import type { Ledger } from './contract.ts';
import { LedgerBusyError } from './errors.ts';
import { DEFAULT_PATIENCE_MS, LAST_PATIENCE_MS } from './group-commit.ts';
import type { Storage } from './storage.ts';

const PAUSE_MS = 25;

export interface FreeWrites {
  readonly whenFree: Ledger['whenFree'];
  /** One of them writes at this moment: it began before the ledger was closed, so it may. */
  isWriting(): boolean;
  /** Resolves once nothing is waiting any more, after as long as appends wait then. */
  drain(): Promise<void>;
}

/** One after the other: of many that wait only the first one tries, or their tries together would hold the event loop. */
export function createFreeWrites(
  storage: Pick<Storage, 'briefly'>,
  demandOpen: () => void,
  patienceMs = DEFAULT_PATIENCE_MS,
): FreeWrites {
  const inOrder = createSequence();
  let isWriting = false;
  let longestMs = patienceMs;
  const look = <T>(work: () => T): T => {
    isWriting = true;
    try {
      return storage.briefly(work);
    } finally {
      isWriting = false;
    }
  };
  return {
    async whenFree(work, signal) {
      demandOpen();
      const askedAtMs = performance.now();
      const turn = inOrder(async () => {
        for (;;) {
          signal?.throwIfAborted();
          try {
            return look(work);
          } catch (error) {
            const isOver = performance.now() - askedAtMs >= longestMs;
            if (!(error instanceof LedgerBusyError) || isOver) throw error;
          }
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
      });
      return signal === undefined ? turn : orAborted(signal, turn);
    },
    isWriting: () => isWriting,
    drain() {
      longestMs = Math.min(longestMs, LAST_PATIENCE_MS);
      return inOrder(() => Promise.resolve());
    },
  };
}

/** Also while others are before it in the line. */
function orAborted<T>(signal: AbortSignal, turn: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const forget = (): void => signal.removeEventListener('abort', abort);
    turn.finally(forget).then(resolve, reject);
  });
}
