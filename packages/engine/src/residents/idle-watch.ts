import type { Clock } from '@caisson/ground';

/** A worker whose turns all wait is given up after this. */
const IDLE_MS = 10_000;

/** Finds workflows whose threads have needed no worker for a while. */
export class IdleWatch {
  readonly #clock: Clock;
  readonly #onIdle: (workflow: string) => void;
  readonly #timers = new Map<string, () => void>();

  constructor(clock: Clock, onIdle: (workflow: string) => void) {
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  /** Something changed: the time begins again, if it is idle now. */
  look(workflow: string, isIdle: boolean): void {
    this.#timers.get(workflow)?.();
    this.#timers.delete(workflow);
    if (!isIdle) return;
    const cancel = this.#clock.setTimer(IDLE_MS, () => {
      this.#timers.delete(workflow);
      this.#onIdle(workflow);
    });
    this.#timers.set(workflow, cancel);
  }

  stop(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
  }
}
