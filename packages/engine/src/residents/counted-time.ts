import type { Clock } from '@caisson/ground';
import type { ThreadRow } from '@caisson/protocol';

/** A limit of time that can be paused. Calls back once, when it is used up. */
export class CountedTime {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #leftMs: number;
  #run: { readonly sinceMs: number; cancel(): void } | null = null;

  constructor(clock: Clock, leftMs: number, onOver: () => void) {
    this.#clock = clock;
    this.#leftMs = leftMs;
    this.#onOver = onOver;
  }

  count(): void {
    if (this.#run !== null) return;
    this.#run = {
      sinceMs: this.#clock.monotonicMs(),
      cancel: this.#clock.setTimer(Math.max(0, this.#leftMs), this.#onOver),
    };
  }

  pause(): void {
    if (this.#run === null) return;
    this.#run.cancel();
    this.#leftMs -= this.#clock.monotonicMs() - this.#run.sinceMs;
    this.#run = null;
  }
}

/** What is left of a thread's time, by the clock of the wall. */
export function leftMsOf(
  { timeoutMs, startedAt, pausedMs = 0, pausedSince }: ThreadRow,
  nowMs: number,
): number {
  const untilMs = pausedSince === undefined ? nowMs : Date.parse(pausedSince);
  const usedMs = startedAt === undefined ? 0 : untilMs - Date.parse(startedAt) - pausedMs;
  return timeoutMs - Math.max(0, usedMs);
}
