/** Replays a run from a cursor and continues until it has ended, whichever process drives it. */
import { BusTopic, isTerminal, knownTypeOf, TERMINAL_TYPES, type EventEnvelope } from '@caisson/protocol';
import type { ReadOptions } from '../admission/index.ts';
import { readEvents } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { nextChange, type FeedQuery, type PublishedEvent } from '../ledger/index.ts';
import { createLiveHosts } from './live-hosts.ts';

/** How often a waiting process checks that the other hosts are alive. */
const LOOK_MS = 1000;

type Waiting = Pick<Engine, 'ledger' | 'clock' | 'bus' | 'recover'>;
type Following = Waiting & Pick<Engine, 'feed' | 'dispatcher' | 'hosts' | 'hostId'>;

/**
 * A run that this host drives ends for its readers with its last event, any other with its terminal one. Of another host
 * only what is live comes over its socket: what is recorded is read from the ledger in any case, so that a host that dies,
 * stands still or closes the connection costs a reader nothing of it.
 */
export async function* followRun(
  engine: Following,
  runId: string,
  options: ReadOptions = {},
): AsyncGenerator<EventEnvelope> {
  const own = engine.dispatcher.active(runId);
  if (own !== null) return yield* own.events(options);
  const hostOf = (): string[] => {
    const row = engine.ledger.run(runId);
    return row === null || row.ending !== undefined ? [] : [row.host];
  };
  const { source } = createLiveHosts(engine, { runs: [runId], types: options.types }, hostOf);
  yield* readToEnding(engine, runId, { ...options, others: source });
}

/** Resolves when the run has ended, without what is live. */
export async function waitForEnding(engine: Following, runId: string, signal?: AbortSignal): Promise<void> {
  for await (const event of readToEnding(engine, runId, { types: TERMINAL_TYPES, signal })) void event;
  signal?.throwIfAborted();
}

async function* readToEnding(
  engine: Following,
  runId: string,
  options: Omit<FeedQuery, 'runId' | 'until' | 'onIdle'>,
): AsyncGenerator<EventEnvelope> {
  const ended = new AbortController();
  if (engine.ledger.run(runId)?.ending !== undefined) ended.abort();
  const onRecorded = (event: PublishedEvent): void => {
    if (isTerminal(knownTypeOf(event))) ended.abort();
  };
  yield* readEvents(engine.feed, {
    ...options,
    runId,
    until: ended.signal,
    onRecorded,
    onIdle: createLook(engine),
  });
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
export function createLook(engine: Waiting): () => Promise<void> {
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
