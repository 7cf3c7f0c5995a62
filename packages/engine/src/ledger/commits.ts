import type { AdmittedEvent } from './admit-event.ts';
import type { AppendOptions } from './contract.ts';
import type { EventRecord } from './event-record.ts';

export interface Recorded {
  /** The events of the call, in order. */
  readonly records: readonly EventRecord[];
  /** How many events the ledger had before the call: those with a higher offset are new. */
  readonly countBefore: number;
}

/** What a call demands; plain data, because it may cross to another thread. */
export type CommitOptions = Omit<AppendOptions, 'onAdded'>;

/** What writes appended events. Implementers must not resolve a call before its events are durable (L1). */
export interface Commits {
  submit(events: readonly AdmittedEvent[], options?: CommitOptions): Promise<Recorded>;
  /** Resolves once nothing is waiting any more: a process that wants to exit is not delayed for long. */
  drain(): Promise<void>;
}
