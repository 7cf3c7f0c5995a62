/**
 * The only way out of a sandbox: one HTTP server per attempt on a UNIX socket of the host.
 *
 * N1  A connection leaves only to the model's endpoint, to a mapped service, or to an exactly granted host and port.
 * N2  A real key exists only on the host's side: the sandbox has a placeholder that is worthless elsewhere.
 * N3  A granted name that resolves to a private address is refused, unless that address itself was granted.
 * N4  Every connection has one record, also when it was refused; what exceeds the cap is counted in the last record.
 * N5  After `close` no socket of the attempt is open, inside or outside.
 * N6  Of the model's API only what agents need is forwarded; a path is normalised once, and that one text is judged,
 *     counted and sent.
 */
import type { LookupAddress } from 'node:dns';
import type { Clock, NamedSecret } from '@caisson/ground';
import type { ModelApi } from '@caisson/protocol';
import type { ModelError } from './read-error.ts';
import type { TokenCounts } from './read-usage.ts';

/** The data of a `network.connection` event. */
export type ConnectionRecord = {
  via: 'connect' | 'http' | 'broker';
  target: string;
  verdict: 'allowed' | 'denied' | 'failed';
  detail?: string;
  bytesUp: number;
  bytesDown: number;
  durationMs: number;
};

export interface ModelTarget {
  /** Base URL, http or https; its path is kept. May be a loopback address. */
  readonly endpoint: string;
  readonly api: ModelApi;
  /** `null` for a model that needs no key. */
  readonly apiKey: string | null;
  /** The client is logged in by itself: its own token is passed on, and no placeholder is demanded. */
  readonly passesToken?: boolean;
}

/** Another service that is reached with a key the sandbox never sees. */
export interface ServiceTarget {
  readonly name: string;
  readonly endpoint: string;
  readonly apiKey: string;
  /** Header that carries the key as it is; default: `authorization` with `Bearer`. */
  readonly header?: string;
}

export interface OpenNetworkOptions {
  readonly runId: string;
  readonly attempt: number;
  readonly socketPath: string;
  /** `host:port` rules, exact. */
  readonly hosts: readonly string[];
  readonly model: ModelTarget | null;
  readonly services?: readonly ServiceTarget[];
  /** Secrets of the agent: they may be in a host or path that it requests, and must be in no record. */
  readonly secrets?: readonly NamedSecret[];
  /** Listen on a port of 127.0.0.1 as well, for a run without its own network namespace. */
  readonly onLoopback?: boolean;
  /** Must not throw; called once per connection, when it has ended. */
  onConnection(record: ConnectionRecord): void;
}

/** What the sandbox needs in order to use a mapped endpoint. */
export interface Mapping {
  readonly pathPrefix: string;
  readonly placeholder: string;
}

/**
 * What the broker saw of a model: what its answers used, as they said it when they passed and by an estimate where they
 * did not, and how they ended. It has seen every answer, so it is the truth for every runtime.
 */
export interface ObservedUsage {
  /** Answers that the model began. */
  readonly answers: number;
  /** Requests under way; nothing is estimated for them yet. */
  readonly underWay: number;
  /** The part of the counts below that no answer reported, and how many answers that concerns. */
  readonly estimated: {
    readonly answers: number;
    readonly inputTokens: number;
    readonly outputTokens: number;
  };
  /** Every answer ended and reported its usage: the counts are complete. */
  readonly isWhole: boolean;
  /** Answers in which the model refused to continue. */
  readonly refusals: number;
  /** Why the latest answer ended early, if it did and was not one of several. */
  readonly lastStop: 'refusal' | 'max-tokens' | null;
  /** Why the latest request of the task brought no usable answer; null once one did. */
  readonly lastFailure: { readonly cause: ModelError; readonly detail: string } | null;
  /** Whether the model has given one answer at least that an agent can use. */
  readonly hasAnswered: boolean;
  /** How many requests failed since the task's last usable answer. */
  readonly failedInRow: number;
  /** For how long no connection to the model was possible; 0 if the last one was. */
  readonly unreachedMs: number;
  /** Calls of tools in all answers, also while they come. */
  readonly toolCalls: number;
  /** The tool that the latest answer called, until the model is asked again. */
  readonly openTool: string | null;
  /** Time in which at least one request was under way. */
  readonly modelMs: number;
  readonly byModel: readonly (TokenCounts & { readonly model: string })[];
}

/** One request to the model that has ended; texts are redacted and short. */
export interface ModelCall {
  readonly model: string;
  readonly tokens: TokenCounts;
  readonly isEstimate?: true;
  readonly durationMs: number;
  readonly outcome: 'answered' | 'empty' | 'failed' | 'left';
  readonly detail?: string;
}

export interface OpenNetwork {
  readonly socket: string;
  readonly model: Mapping | null;
  readonly services: readonly (Mapping & { readonly name: string })[];
  /** Whether CONNECT and plain HTTP are enabled. */
  readonly offersProxy: boolean;
  readonly loopbackPort: number | null;
  /** Counts the model's answers; null if no model is mapped. Stays readable after `close`. */
  readonly usage: { read(): ObservedUsage; onChange: () => void; onCall: (call: ModelCall) => void } | null;
  /** Ends every connection at once and removes the socket. Idempotent. */
  close(): Promise<void>;
}

export interface NetworkSettings {
  readonly clock: Clock;
  /** How names become addresses; default: the system's resolver. */
  readonly resolveName?: (name: string) => Promise<readonly LookupAddress[]>;
}

export interface Network {
  /** Resolves when the socket listens. Throws NetworkOpenError. */
  open(options: OpenNetworkOptions): Promise<OpenNetwork>;
}
