/** One piece of work after the other, for each name. */
export class InTurn {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    this.#last.set(name, settled);
    return turn;
  }

  /** Resolves when everything that was asked for so far is over. */
  async settle(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
