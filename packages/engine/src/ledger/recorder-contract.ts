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

/** The record of one run. */
export interface RunRecord {
  /** Resolves when the event is durable. */
  append<T extends DurableType>(
    type: T,
    data: DataOf<T>,
    place: EventPlace & { poolLimit?: PoolLimit },
  ): Promise<StoredEvent>;
  /** Several events that stand or fall together. */
  appendAll(events: readonly EventContent<DurableType>[], attempt: number): Promise<readonly StoredEvent[]>;
  /** Records an event without a wait (E3). */
  keep<T extends DurableType>(type: T, data: DataOf<T>, place: EventPlace): void;
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
}
