/** Where secrets come from. Values are never logged, never in an argument list, and live only in the job and the broker. */
export interface Secrets {
  /** Why this reference can never be resolved, or null. */
  check(ref: string): string | null;
  /** The value, without a trailing newline. Throws SecretUnavailableError that names the reference, never a value. */
  resolve(ref: string): Promise<string>;
}
