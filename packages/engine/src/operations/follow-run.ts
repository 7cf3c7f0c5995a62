/** Replays a run from a cursor and continues until it has ended, whichever process drives it. */
import { BusTopic, isTerminal, recordedTypeOf, toEnvelope, type EventEnvelope } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { nextChange } from '../ledger/index.ts';

/** How often a waiting process checks that the other hosts are alive. */
const LOOK_MS = 1000;

type Waiting = Pick<Engine, 'ledger' | 'clock' | 'bus' | 'recover'>;

export async function* followRun(
  engine: Waiting,
  runId: string,
  options: { after?: number; signal?: AbortSignal } = {},
): AsyncGenerator<EventEnvelope> {
  let after = options.after ?? 0;
  let isEnded = false;
  const wait = createWait(engine, options.signal);
  while (options.signal?.aborted !== true) {
    for (const event of engine.ledger.read({ runId, after })) {
      after = event.seq;
      isEnded ||= isTerminal(recordedTypeOf(event));
      yield toEnvelope(event);
    }
    if (
      isEnded ||
      (engine.ledger.run(runId)?.ending !== undefined && engine.ledger.read({ runId, after }).length === 0)
    )
      return;
    await wait();
  }
}

/**
 * Its promise resolves when the ledger may have changed, and after a while in any case. The run's host may have died
 * meanwhile; if no process checked, the wait would never end.
 */
export function createWait(engine: Waiting, signal: AbortSignal | undefined): () => Promise<void> {
  let lookAtMs = engine.clock.monotonicMs() + LOOK_MS;
  let isReported = false;
  return async () => {
    await nextChange(engine, signal);
    if (engine.clock.monotonicMs() < lookAtMs) return;
    try {
      await engine.recover({ isRepeated: true });
    } catch (error) {
      const message = `what a dead process left could not be settled: ${(error as Error).message}`;
      if (!isReported) engine.bus.emit(BusTopic.WARNING, { source: 'recovery', message });
      isReported = true;
    }
    lookAtMs = engine.clock.monotonicMs() + LOOK_MS;
  };
}
