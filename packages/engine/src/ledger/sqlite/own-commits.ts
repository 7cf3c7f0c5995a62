/**
 * What this process's other connection to the file is doing, for the watch on other processes: to SQLite its commits look
 * like theirs.
 */
export class OwnCommits {
  /** Calls that were not answered yet. */
  underWay = 0;
  #onCommit: ((lastOffset: number) => void) | null = null;

  /** The other connection has committed, and this is the newest of its events. */
  notify(lastOffset: number): void {
    this.#onCommit?.(lastOffset);
  }

  listen(onCommit: (lastOffset: number) => void): () => void {
    this.#onCommit = onCommit;
    return () => (this.#onCommit = null);
  }
}
