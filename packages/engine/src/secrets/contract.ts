/**
 * Where secrets come from. A reference says where a value is; only this room turns it into the value.
 *
 * K1  A value is in memory only: never on disk, in a log, in an argument list or in an error.
 * K2  What was fetched by a command or from a service is kept for a short time, so that a retry does not ask again;
 *     it is dropped when that time is over. Files and variables are read every time.
 * K3  Every fetch is bounded in time and size.
 */
import type { Clock } from '@caisson/ground';

export interface Secrets {
  /** Why this reference can never be resolved, or null. Reads no file and asks nobody. */
  check(ref: string): string | null;
  /** The value, without a trailing newline. Throws SecretUnavailableError that names the reference, never a value. */
  resolve(ref: string, options?: { readonly signal?: AbortSignal }): Promise<string>;
  /** Drops every value that is kept. */
  forget(): void;
}

export interface SecretsOptions {
  /** The host's environment, for `env:` and for what commands and the AWS client see. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Relative `file:` references start here; commands run here. */
  readonly base: string;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** How long a fetched value is kept. Default five minutes. */
  readonly ttlMs?: number;
  /** Secrets Manager elsewhere than the environment says. */
  readonly aws?: { readonly endpoint?: string; readonly region?: string };
  /** Hears about a secret that lies too open. */
  onWarning?(message: string): void;
}

/** One way of finding a secret. */
export interface SecretSource {
  /** Whether the value is worth keeping for a while (K2). */
  readonly isKept: boolean;
  /** Why `what` can never be found, or null. */
  check(what: string): string | null;
  /** Throws an error whose message holds no value. */
  fetch(what: string, signal: AbortSignal): Promise<string>;
}
