import type { Clock } from '@caisson/ground';

/** A host that is killed forgets at most so much of the time that counts, and what was not written yet. */
export const REPORT_MS = 60_000;

export interface CountedTimeListener {
  /** Called once, when the limit is used up. */
  onOver(): void;
  /** What is left; at each pause, and now and then while it counts. */
  onCounted(leftMs: number): void;
}

/** A limit of time that can be paused. */
export class CountedTime {
  readonly #clock: Clock;
  readonly #listener: CountedTimeListener;
  #leftMs: number;
  #run: { readonly sinceMs: number; cancel(): void } | null = null;

  constructor(clock: Clock, leftMs: number, listener: CountedTimeListener) {
    this.#clock = clock;
    this.#leftMs = leftMs;
    this.#listener = listener;
  }

  count(): void {
    if (this.#run !== null) return;
    const isLast = this.#leftMs <= REPORT_MS;
    const onTimer = (): void => {
      if (isLast) return this.#listener.onOver();
      this.pause();
      this.count();
    };
    this.#run = {
      sinceMs: this.#clock.monotonicMs(),
      cancel: this.#clock.setTimer(Math.max(0, Math.min(this.#leftMs, REPORT_MS)), onTimer),
    };
  }

  pause(): void {
    if (this.#run === null) return;
    this.#run.cancel();
    this.#leftMs -= this.#clock.monotonicMs() - this.#run.sinceMs;
    this.#run = null;
    this.#listener.onCounted(this.#leftMs);
  }
}
