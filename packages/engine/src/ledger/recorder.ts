/**
 * The one writer of durable events. Everything that is recorded goes through here.
 * E1  An event is on disk before a listener gets it (invariant 3), and a listener that throws disturbs no other (9).
 * E2  Within a record, order is the order of the calls: an event waits for all before it, and fails if they cannot be
 *     written.
 * E3  `keep` drops nothing. What the ledger cannot accept now is queued and written later, at the latest by `flush`.
 *     What it refuses for good, or what exceeds MAX_HELD, is counted, and `flush` records the count (`events.lost`).
 * E4  Kept events wait a moment, so that those that come together are one commit, and share the transaction of what a
 *     caller appends behind them. `keepWithNext` waits longer for that.
 * E5  Nothing is recorded that does not fit its definition in `EVENTS`, or has a field, at any depth, that the
 *     definition does not declare: `append` rejects, `keep` counts it as lost.
 */
import type { Clock } from '@caisson/ground';
import { definedOnly, EVENTS } from '@caisson/protocol';
import type { PublishedEvent, Ledger } from './contract.ts';
import type { Recorder, RunRecord } from './recorder-contract.ts';
import { StreamRecord } from './stream-record.ts';

export * from './recorder-contract.ts';

export function createRecorder({
  ledger,
  clock,
}: {
  ledger: Pick<Ledger, 'append'>;
  clock: Clock;
}): Recorder {
  const listeners: ((event: PublishedEvent) => void)[] = [];
  const holding = new Set<RunRecord>();
  const publish = (event: PublishedEvent): void => {
    for (const listener of listeners) callSafely(listener, event);
  };
  return {
    of: (runId, trace = '', epoch) =>
      new StreamRecord({
        publish,
        holding,
        setTimer: (ms, work) => clock.setTimer(ms, work),
        compose: (type, data, { attempt, id, at = clock.now().toISOString() }) => ({
          ...definedOnly({ id }),
          runId,
          attempt,
          type,
          version: EVENTS[type].version,
          at,
          trace,
          data,
        }),
        write(events, poolLimit) {
          const fence = runId === null || epoch === undefined ? undefined : { runId, epoch };
          return ledger.append(events, { onAdded: publish, ...definedOnly({ poolLimit, fence }) });
        },
      }),
    listen: (listener) => void listeners.push(listener),
    async flush() {
      await Promise.allSettled([...holding].map((record) => record.flush()));
    },
  };
}

function callSafely(listener: (event: PublishedEvent) => void, event: PublishedEvent): void {
  try {
    listener(event);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    process.emitWarning(`a listener threw on ${event.type}: ${what}`);
  }
}
