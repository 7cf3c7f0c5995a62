import type { Clock } from '@caisson/ground';

/** Whether the model's server can be connected to. */
export interface ModelReach {
  connected(): void;
  /** No connection was possible for a request that began then. */
  unreached(sinceMs: number): void;
  /** For how long none was possible; 0 if the last one was. */
  unreachedMs(): number;
}

export function createModelReach(clock: Clock): ModelReach {
  let firstMs: number | null = null;
  return {
    connected: () => void (firstMs = null),
    unreached: (sinceMs) => void (firstMs ??= sinceMs),
    unreachedMs: () => (firstMs === null ? 0 : clock.monotonicMs() - firstMs),
  };
}
