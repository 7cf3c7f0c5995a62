/**
 * The runs of this host that wait for a slot. A commit may have freed one, so the head of the queue is looked up, once for
 * all of them, and only that run is woken.
 * Q1  The run at the head is woken after every commit, of any process; what it finds it decides by the ledger.
 * Q2  Of those that wait for the same pool, the first is also woken once in LOOK_MS: it looks for dead hosts.
 * Q3  When the head cannot be found, all are woken, and learn why from the ledger.
 */
import type { Clock } from '@caisson/ground';
import type { AwaitTurn } from '../attempt/index.ts';
import { nextChange, type Ledger } from '../ledger/index.ts';

const LOOK_MS = 1000;

interface Line {
  /** The runs that wait, in the order in which they came, and what wakes each. */
  readonly waiting: Map<string, () => void>;
  lookAtMs: number;
}

export function createQueueWatch(rooms: {
  readonly ledger: Pick<Ledger, 'watch' | 'leases'>;
  readonly clock: Clock;
}): AwaitTurn {
  const lines = new Map<string, Line>();
  let emptied = new AbortController();
  const watch = async (): Promise<void> => {
    const { signal } = emptied;
    while (!signal.aborted) {
      await nextChange(rooms, signal);
      for (const [pool, line] of lines) wakeNext(rooms, pool, line);
    }
  };
  const join = (pool: string, runId: string, wake: () => void): void => {
    const isFirst = lines.size === 0;
    const line = lines.get(pool) ?? { waiting: new Map(), lookAtMs: rooms.clock.monotonicMs() + LOOK_MS };
    line.waiting.set(runId, wake);
    lines.set(pool, line);
    if (!isFirst) return;
    emptied = new AbortController();
    void watch();
  };
  const leave = (pool: string, runId: string): void => {
    const line = lines.get(pool);
    line?.waiting.delete(runId);
    if (line?.waiting.size === 0) lines.delete(pool);
    if (lines.size === 0) emptied.abort();
  };
  return ({ pool, runId }, signal) =>
    new Promise((resolve) => {
      const wake = (): void => {
        leave(pool, runId);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      join(pool, runId, wake);
      signal.addEventListener('abort', wake, { once: true });
    });
}

function wakeNext(
  { ledger, clock }: { readonly ledger: Pick<Ledger, 'leases'>; readonly clock: Clock },
  pool: string,
  line: Line,
): void {
  try {
    const head = ledger.leases.findHead(pool, clock.wallMs());
    if (head !== null) line.waiting.get(head)?.(); // Q1
  } catch {
    for (const wake of [...line.waiting.values()]) wake(); // Q3
  }
  if (clock.monotonicMs() < line.lookAtMs) return;
  line.lookAtMs = clock.monotonicMs() + LOOK_MS;
  line.waiting.values().next().value?.(); // Q2
}
