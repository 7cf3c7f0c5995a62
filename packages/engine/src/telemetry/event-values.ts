import { createHash } from 'node:crypto';
import { isEnding, type EventType, type Failure } from '@caisson/protocol';
import type { StoredEvent, StoredOf } from '../ledger/index.ts';

export function atMs({ at }: StoredEvent): number {
  return Date.parse(at);
}

export function findEvent<T extends EventType>(events: readonly StoredEvent[], type: T): StoredOf<T> | null {
  return events.find((event): event is StoredOf<T> & StoredEvent => event.type === type) ?? null;
}

/** When the attempt was over in which this happened: nothing that it began lasts longer. */
export function endOfAttemptMs(events: readonly StoredEvent[], { seq }: StoredEvent): number | undefined {
  const over = events.find((event) => event.seq > seq && (event.type === 'attempt.ended' || isEnding(event)));
  return over === undefined ? undefined : atMs(over);
}

/** The same event always has the same span. */
export function spanIdOf({ runId, seq }: StoredEvent): string {
  return createHash('sha256').update(`${runId}/${seq}`).digest('hex').slice(0, 16);
}

/** The detail of a failure may quote commands and their output, which no span shows. */
export function shortError({ reason, cause }: Failure): string {
  return cause === undefined ? reason : `${reason} (${cause})`;
}
