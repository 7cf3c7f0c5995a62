/**
 * The only way out of a sandbox: one HTTP server per attempt, in the worker, on a UNIX socket.
 *
 * N1  A connection leaves only to the model's endpoint, to a mapped service, or to an exactly granted host and port.
 * N2  A real key exists only outside the sandbox, which has a placeholder that is worthless elsewhere.
 * N3  A granted name that resolves to a private address is refused, unless that address itself was granted.
 * N4  Every connection has one record, also when it was refused; what exceeds the cap is counted in the last record.
 * N5  After `close` no socket of the attempt is open, inside or outside.
 * N6  Of the model's API only what agents need is forwarded; a path is normalised once, and that one text is judged,
 *     counted and sent.
 */
import type { LookupAddress } from 'node:dns';
import type { Clock, NamedSecret } from '@caisson/ground';
import type { DataOf, ModelCall, NetworkPlan, ObservedUsage } from '@caisson/protocol';

/** The data of a `network.connection` event. */
export type ConnectionRecord = DataOf<'network.connection'>;

export type ModelTarget = NonNullable<NetworkPlan['model']>;

/** Another service that is reached with a key the sandbox never sees. */
export type ServiceTarget = NetworkPlan['services'][number];

export interface OpenNetworkOptions extends Readonly<NetworkPlan> {
  /** Secrets of the agent: they may be in a host or path that it requests, and must be in no record. */
  readonly secrets?: readonly NamedSecret[];
  /** Must not throw; called once per connection, when it has ended. */
  onConnection(record: ConnectionRecord): void;
}

/** What the sandbox needs in order to use a mapped endpoint. */
export interface Mapping {
  readonly pathPrefix: string;
  readonly placeholder: string;
}

/** What the broker counts; listeners are set by its one reader and must not throw. */
export interface WatchedUsage {
  read(): ObservedUsage;
  /** A request began, got the head of its answer, or ended. */
  onChange: () => void;
  /** An answer brought more to count. */
  onGrowth: () => void;
  /** A request ended. */
  onCall: (call: ModelCall) => void;
}

export interface OpenNetwork {
  readonly socket: string;
  readonly model: Mapping | null;
  readonly services: readonly (Mapping & { readonly name: string })[];
  /** Whether CONNECT and plain HTTP are enabled. */
  readonly offersProxy: boolean;
  readonly loopbackPort: number | null;
  /** Counts the model's answers; null if no model is mapped. Stays readable after `close`. */
  readonly usage: WatchedUsage | null;
  /** Ends every connection at once, before it returns, and removes the socket. Idempotent. */
  close(): Promise<void>;
}

export interface NetworkSettings {
  readonly clock: Clock;
  /** How names become addresses; default: the system's resolver. */
  readonly resolveName?: (name: string) => Promise<readonly LookupAddress[]>;
}
