/**
 * Signed delivery of a run's lifecycle events and its question from a durable outbox.
 *
 * C1 What an endpoint should receive is on disk before a run begins; events become deliveries when they are
 *     durable, and again by the next host if this one died in between.
 * C2 A delivery ends as `callback.delivered` or `callback.failed`, never silently.
 * C3 Nothing here can delay or fail a run once it has started; nothing here throws into one.
 * C4 Keys and tokens are resolved for each try and stored nowhere.
 * C5 Two hosts never try the same delivery at the same time.
 * C6 A row names the address, the content and the secret: one that we did not sign is dropped, never sent.
 */
import type { Clock, Stamp } from '@caisson/ground';
import type { Ledger, Recorder } from '../ledger/index.ts';

/** Which endpoint gets which events. References, never the secrets themselves. */
export interface CallbackEndpoint {
  readonly url: string;
  readonly key?: string | undefined;
  readonly authorization?: string | undefined;
  /** Event types to send (`CALLBACK_TYPES`). Default: the terminal ones. */
  readonly when?: readonly string[] | undefined;
}

/** One event on its way to one endpoint. */
export interface CallbackStanding {
  /** Without query and credentials. */
  readonly url: string;
  readonly event: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly tries: number;
  readonly detail?: string;
}

/** An event as it was recorded. */
export interface CallbackEvent {
  readonly runId: string | null;
  readonly type: string;
  readonly seq: number;
  readonly at: string;
  readonly attempt: number;
  readonly trace: string;
  readonly data: Record<string, unknown>;
}

export interface Callbacks {
  /** Records which endpoints want a run's events; `urls` are added to the configured endpoints. Durable (C1). */
  open(runId: string, urls: readonly string[]): void;
  /** Whether every key and token of the run's endpoints can be found. Throws the errors of the secrets room. */
  check(runId: string): Promise<void>;
  /** Receives every durable event; queues and sends the wanted ones. Never throws (C3). */
  receive(event: CallbackEvent): void;
  /** Continues what earlier hosts left: events that were never queued, deliveries that are due. */
  resume(): void;
  /** The state of the run's deliveries. */
  standings(runId: string): readonly CallbackStanding[];
  /** Waits until nothing is due any more, at most this long. */
  settle(limitMs: number): Promise<void>;
  /** Aborts what is in flight; it stays in the outbox. A locked ledger delays it for two seconds at most. Idempotent. */
  stop(): Promise<void>;
}

export interface CallbacksOptions {
  readonly endpoints: readonly CallbackEndpoint[];
  readonly ledger: Pick<Ledger, 'kv' | 'leases' | 'read' | 'run' | 'whenFree'>;
  readonly recorder: Recorder;
  readonly hostId: string;
  readonly clock: Clock;
  /** Signs the rows, which name address, content and secret. */
  readonly stamp: Stamp;
  resolveSecret(ref: string): Promise<string>;
  isHostAlive(hostId: string): Promise<boolean>;
  warn(message: string): void;
  /** For tests. */
  readonly limits?: Partial<CallbackLimits>;
}

export interface CallbackLimits {
  readonly tryMs: number;
  readonly maxTries: number;
  readonly maxAgeMs: number;
  readonly backoffBaseMs: number;
}
