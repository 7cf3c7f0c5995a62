import type { StreamState } from '../ledger-view.ts';

const MAX_HEADS = 10_000;

/**
 * Remembers stream heads from one write transaction to the next, as long as no other process has committed in between:
 * SQLite's data version shows that, and it is read under the write lock. It is used only inside a write.
 */
export class HeadCache {
  readonly #heads = new Map<string | null, StreamState>();
  #version = -1;
  #isWriting = false;

  enter(version: number): void {
    if (version !== this.#version || this.#heads.size > MAX_HEADS) this.#heads.clear();
    this.#version = version;
    this.#isWriting = true;
  }

  leave(): void {
    this.#isWriting = false;
  }

  /** What was added during a failed write is invalid. */
  forget(): void {
    this.#heads.clear();
  }

  get(runId: string | null, find: () => StreamState): StreamState {
    if (!this.#isWriting) return find();
    const known = this.#heads.get(runId);
    if (known !== undefined) return known;
    const found = find();
    this.#heads.set(runId, found);
    return found;
  }

  put(runId: string | null, stream: StreamState): void {
    this.#heads.set(runId, stream);
  }
}
