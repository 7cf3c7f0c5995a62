import type { LedgerChange } from './contract.ts';

type Listener = (change: LedgerChange) => void;

/**
 * Informs listeners about commits, after the turn in which they happened and only once. The watch on other processes
 * runs only while there are listeners.
 */
export function createListeners(watchOthers: (onChange: () => void) => () => void) {
  const listeners = new Set<Listener>();
  const pending = new Set<LedgerChange['origin']>();
  let stopWatching: (() => void) | null = null;

  function notify(change: LedgerChange): void {
    if (listeners.size === 0) return;
    if (pending.size === 0) setImmediate(deliver);
    pending.add(change.origin);
  }

  function deliver(): void {
    const origins = [...pending];
    pending.clear();
    for (const origin of origins)
      for (const listener of [...listeners]) {
        // The one before it may have removed it.
        if (listeners.has(listener)) callSafely(listener, { origin });
      }
  }

  function settleWatch(): void {
    if (listeners.size > 0) stopWatching ??= watchOthers(() => notify({ origin: 'other' }));
    else {
      stopWatching?.();
      stopWatching = null;
    }
  }

  return {
    notify,
    add(listener: Listener): () => void {
      const own: Listener = (change) => listener(change);
      listeners.add(own);
      settleWatch();
      return () => {
        listeners.delete(own);
        settleWatch();
      };
    },
    clear(): void {
      listeners.clear();
      settleWatch();
    },
  };
}

function callSafely(listener: Listener, change: LedgerChange): void {
  try {
    listener(change);
  } catch (error) {
    // Invariant 9: a listener never disturbs the work. Its error is still reported to the process.
    process.emitWarning(`a ledger listener threw: ${error instanceof Error ? error.message : String(error)}`);
  }
}
