/** Counts what happened within a window of time, on the monotonic clock: crashes of a key, signals of a sense. */
export interface WindowLimit {
  /** This many in the window are too many. */
  readonly limit: number;
  readonly windowMs: number;
}

const NEVER: readonly number[] = [];

export class SlidingWindow {
  limit: WindowLimit;
  #timesMs: readonly number[] = NEVER;

  constructor(limit: WindowLimit) {
    this.limit = limit;
  }

  /**
   * Whether that was one too many. A time before the last one counts as that one: their order is the order of
   * calls.
   */
  add(atMs: number): boolean {
    const lastMs = this.#timesMs.at(-1) ?? atMs;
    const all = [...this.#timesMs, Math.max(lastMs, atMs)];
    this.#timesMs = all.slice(Math.max(0, all.length - this.limit.limit));
    return this.isFull(atMs);
  }

  /** How many are within the window, at most the limit. */
  count(nowMs: number): number {
    return this.#timesMs.filter((timeMs) => nowMs - timeMs < this.limit.windowMs).length;
  }

  isFull(nowMs: number): boolean {
    return this.count(nowMs) >= this.limit.limit;
  }

  clear(): void {
    this.#timesMs = NEVER;
  }
}
