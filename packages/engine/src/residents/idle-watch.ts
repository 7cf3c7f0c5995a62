import type { Clock } from '@caisson/ground';

/** A turn that only waits is given up after this. */
const IDLE_MS = 10_000;
/** Where many wait together, each costs memory that others need. */
const CROWD = 16;
const IDLE_IN_CROWD_MS = 1000;

/** Finds threads that have needed their turn for nothing for a while. */
export class IdleWatch {
  readonly #clock: Clock;
  readonly #onIdle: (threadId: string) => void;
  readonly #timers = new Map<string, () => void>();

  constructor(clock: Clock, onIdle: (threadId: string) => void) {
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  /** Something changed: the time begins again, if it is idle now. */
  look(threadId: string, isIdle: boolean): void {
    this.#timers.get(threadId)?.();
    this.#timers.delete(threadId);
    if (!isIdle) return;
    const idleMs = this.#timers.size < CROWD ? IDLE_MS : IDLE_IN_CROWD_MS;
    const cancel = this.#clock.setTimer(idleMs, () => {
      this.#timers.delete(threadId);
      this.#onIdle(threadId);
    });
    this.#timers.set(threadId, cancel);
  }

  stop(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }
}
