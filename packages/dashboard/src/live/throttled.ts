/**
 * The work, at once when it is asked for, and then again at most once in a while. It never runs twice at the same time, and
 * the last time that it is asked for is never lost. `stop` aborts the signal of the work.
 */
export class Throttled {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #waitMs: number;
  #isAsked = false;
  #isBusy = false;
  readonly #stopped = new AbortController();

  constructor(work: (signal: AbortSignal) => Promise<void>, waitMs: number) {
    this.#work = work;
    this.#waitMs = waitMs;
  }

  ask(): void {
    this.#isAsked = true;
    if (!this.#isBusy) void this.#run();
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    const { signal } = this.#stopped;
    while (this.#isAsked && !signal.aborted) {
      this.#isAsked = false;
      await Promise.all([this.#work(signal), new Promise((resolve) => setTimeout(resolve, this.#waitMs))]);
    }
    this.#isBusy = false;
  }
}
