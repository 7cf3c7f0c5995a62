/**
 * Where secrets come from. A reference says where a value is; only this room turns it into the value.
 *
 * K1  A value is in memory only: never on disk, in a log, in an argument list or in an error.
 * K2  A value from a command or a service is kept for a short time, so that a retry does not fetch it again; it is
 *     dropped when that time is over. Files and variables are read every time.
 * K3  Every fetch is limited in time and size.
 */
import type { Clock } from '@caisson/ground';

export interface Secrets {
  /** Why this reference can never be resolved, or null. Reads no file and sends no request. */
  check(ref: string): string | null;
  /** The value, without a trailing newline. Throws SecretUnavailableError that names the reference, never a value. */
  resolve(ref: string, options?: { readonly signal?: AbortSignal }): Promise<string>;
  /** Drops every value that is kept. */
  forget(): void;
}

export interface SecretsOptions {
  /** The host's environment, for `env:`, commands and the AWS client. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Relative `file:` references start here; commands run here. */
  readonly base: string;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** How long a fetched value is kept. Default five minutes. */
  readonly ttlMs?: number;
  /** An address of Secrets Manager that replaces the environment's. */
  readonly aws?: { readonly endpoint?: string; readonly region?: string };
  /** Called for a secret file that others can read. */
  onWarning?(message: string): void;
}

/** One way of finding a secret. */
export interface SecretSource {
  /** Whether to keep the value for a while (K2). */
  readonly isKept: boolean;
  /** Why `what` can never be found, or null. */
  check(what: string): string | null;
  /** Throws an error whose message contains no value. */
  fetch(what: string, signal: AbortSignal): Promise<string>;
}
