/** Replays a run from a cursor and continues until it has ended, whichever process drives it. */
import { BusTopic, isTerminal, knownTypeOf, type EventEnvelope } from '@caisson/protocol';
import type { ReadOptions } from '../admission/index.ts';
import { readEvents } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { nextChange } from '../ledger/index.ts';

/** How often a waiting process checks that the other hosts are alive. */
const LOOK_MS = 1000;

type Waiting = Pick<Engine, 'ledger' | 'clock' | 'bus' | 'recover'>;

/** A run that this host drives ends for its readers with its last event, any other with its terminal one. */
export async function* followRun(
  engine: Waiting & Pick<Engine, 'feed' | 'dispatcher'>,
  runId: string,
  options: ReadOptions = {},
): AsyncGenerator<EventEnvelope> {
  const own = engine.dispatcher.active(runId);
  if (own !== null) return yield* own.events(options);
  const ended = new AbortController();
  if (engine.ledger.run(runId)?.ending !== undefined) ended.abort();
  const onIdle = createLook(engine);
  for await (const event of readEvents(engine.feed, { ...options, runId, until: ended.signal, onIdle })) {
    if (isTerminal(knownTypeOf(event))) ended.abort();
    yield event;
  }
}

/** Its promise resolves when the ledger may have changed, and after a while in any case. */
export function createWait(engine: Waiting, signal: AbortSignal | undefined): () => Promise<void> {
  const look = createLook(engine);
  return async () => {
    await nextChange(engine, signal);
    await look();
  };
}

/** The host of the run may have died meanwhile; if no process checked, the wait would never end. */
function createLook(engine: Waiting): () => Promise<void> {
  let lookAtMs = engine.clock.monotonicMs() + LOOK_MS;
  let isReported = false;
  return async () => {
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
