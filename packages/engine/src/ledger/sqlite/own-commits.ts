/** Which events a call added: those after `before`, up to `last`; none where both are equal. */
export interface AddedSpan {
  readonly before: number;
  readonly last: number;
}

/**
 * What this process's other connection to the file is doing, for the watch on other processes: to SQLite its commits look
 * like theirs.
 */
export class OwnCommits {
  /** Calls that were not answered yet. */
  underWay = 0;
  #onAnswer: ((added: readonly AddedSpan[]) => void) | null = null;

  /** The other connection has answered; each call that was recorded, in order, and none when all were refused. */
  notify(added: readonly AddedSpan[]): void {
    this.#onAnswer?.(added);
  }

  listen(onAnswer: (added: readonly AddedSpan[]) => void): () => void {
    this.#onAnswer = onAnswer;
    return () => (this.#onAnswer = null);
  }
}
