export interface BackoffOptions {
  readonly baseMs?: number;
  readonly maxMs?: number;
  /** The random share of the delay, so that many that failed together do not retry together. */
  readonly jitter?: number;
  /** In [0, 1). Injected by tests. */
  readonly random?: () => number;
}

const DEFAULTS = { baseMs: 1000, maxMs: 60_000, jitter: 0.25 };

/**
 * How long to wait before retry number `retry`, the first being 0: 1 s doubled each time, at most 60 s, up to a quarter
 * less at random. Never above the maximum.
 */
export function backoffMs(retry: number, options: BackoffOptions = {}): number {
  if (!Number.isInteger(retry) || retry < 0) throw new RangeError(`retry must be 0 or above, got ${retry}.`);
  const { baseMs = DEFAULTS.baseMs, maxMs = DEFAULTS.maxMs, jitter = DEFAULTS.jitter } = options;
  const random = options.random ?? Math.random;
  const fullMs = Math.min(maxMs, baseMs * 2 ** retry);
  return Math.round(fullMs * (1 - jitter * random()));
}
