/**
 * The work, at once when it is asked for, and then again at most once in a while. It never runs twice at the same time, and
 * the last time that it is asked for is never lost.
 */
export class Throttled {
  readonly #work: () => Promise<void>;
  readonly #waitMs: number;
  #isAsked = false;
  #isBusy = false;
  #isStopped = false;

  constructor(work: () => Promise<void>, waitMs: number) {
    this.#work = work;
    this.#waitMs = waitMs;
  }

  ask(): void {
    this.#isAsked = true;
    if (!this.#isBusy) void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false;
      await Promise.all([this.#work(), new Promise((resolve) => setTimeout(resolve, this.#waitMs))]);
    }
    this.#isBusy = false;
  }
}
