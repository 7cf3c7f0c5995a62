import type { DataOf, DurableType, EventContent, LiveType } from '@caisson/protocol';
import type { PublishedEvent, PoolLimit, StoredEvent } from './contract.ts';

/** Records an event of one run and resolves when it is durable. */
export type Emit = <T extends DurableType>(type: T, data: DataOf<T>) => Promise<unknown>;

export interface EventPlace {
  readonly attempt: number;
  /** Makes the event idempotent: it is recorded once, however often it is appended. */
  readonly id?: string;
  /** When it happened, if that was before it could be recorded. */
  readonly at?: string;
}

/** The place of an event that belongs to no attempt. */
export const NO_ATTEMPT: EventPlace = { attempt: 0 };

/** An event, with its time if that is not now. */
export type PastContent = EventContent<DurableType> & Pick<EventPlace, 'at'>;

/** The record of one run. */
export interface RunRecord {
  /** Resolves when the event is durable. */
  append<T extends DurableType>(
    type: T,
    data: DataOf<T>,
    place: EventPlace & { poolLimit?: PoolLimit },
  ): Promise<StoredEvent>;
  /** Several events that stand or fall together. */
  appendAll(events: readonly PastContent[], attempt: number): Promise<readonly StoredEvent[]>;
  /** The same as the last of a run or an attempt: after a record of what was lost (E3), and together with what is kept. */
  appendLast(events: readonly PastContent[], attempt: number): Promise<readonly StoredEvent[]>;
  /** Records an event without a wait (E3). */
  keep<T extends DurableType>(type: T, data: DataOf<T>, place: EventPlace): void;
  /** The same for one that is soon followed by another: both are one commit (E4). */
  keepWithNext<T extends DurableType>(type: T, data: DataOf<T>, place: EventPlace): void;
  /** Published now, never written. */
  publish<T extends LiveType>(type: T, data: DataOf<T>, attempt: number): void;
  /** Waits for what was appended so far and writes what is held. Throws what the ledger throws, and can be repeated. */
  flush(): Promise<void>;
}

export interface Recorder {
  /**
   * `null` is the project's own stream. `epoch`: for the host that drives the run; once another one has adopted it,
   * nothing more is written (RunTakenOverError).
   */
  of(runId: string | null, trace?: string, epoch?: number): RunRecord;
  /** Receives every event that this process records or publishes. */
  listen(listener: (event: PublishedEvent) => void): void;
  /** Tries to write what any record still keeps; for a process that is about to close its ledger. */
  flush(): Promise<void>;
}
