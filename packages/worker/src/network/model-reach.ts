import type { Clock } from '@caisson/ground';

/** One that fails alone may be a passing trouble of the network. */
const FEW_TRIES = 2;

/** Whether the model's server can be connected to. */
export interface ModelReach {
  /** A connection was made, or something came over one. */
  connected(): void;
  /** No connection was possible for a request that began then. */
  unreached(sinceMs: number): void;
  /** For how long none was possible, after a few tries; 0 if the last one was. */
  unreachedMs(): number;
}

export function createModelReach(clock: Clock): ModelReach {
  let firstMs: number | null = null;
  let tries = 0;
  return {
    connected() {
      firstMs = null;
      tries = 0;
    },
    unreached(sinceMs) {
      firstMs ??= sinceMs;
      tries += 1;
    },
    unreachedMs: () => (firstMs === null || tries <= FEW_TRIES ? 0 : clock.monotonicMs() - firstMs),
  };
}
