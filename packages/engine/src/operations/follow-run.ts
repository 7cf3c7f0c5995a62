/** Replays a run from a cursor and goes on until it has ended, whichever process drives it. */
import { isTerminal, type EventEnvelope } from '@caisson/protocol';
import { flatten } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';

const POLL_MS = 250;

export async function* followRun(
  engine: Pick<Engine, 'ledger' | 'clock'>,
  runId: string,
  options: { after?: number; signal?: AbortSignal } = {},
): AsyncGenerator<EventEnvelope> {
  let after = options.after ?? 0;
  let isEnded = false;
  while (options.signal?.aborted !== true) {
    for (const event of engine.ledger.read({ runId, after })) {
      after = event.seq;
      isEnded ||= isTerminal(event.type);
      yield flatten(event);
    }
    if (
      isEnded ||
      (engine.ledger.run(runId)?.ending !== undefined && engine.ledger.read({ runId, after }).length === 0)
    )
      return;
    await nextChange(engine, options.signal);
  }
}

/** Resolves when the ledger may have changed, and after a while in any case. */
export function nextChange(
  engine: Pick<Engine, 'ledger' | 'clock'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stopWatching();
      cancelPoll();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const stopWatching = engine.ledger.watch(done);
    const cancelPoll = engine.clock.setTimer(POLL_MS, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
