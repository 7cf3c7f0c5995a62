import type { StreamState } from '../ledger-view.ts';

const MAX_HEADS = 10_000;

/**
 * Remembers stream heads from one write transaction to the next, as long as nobody else has committed in between:
 * SQLite's data version tells, and it is asked under the write lock. Outside of a write nothing is answered from here.
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

  /** What was put in during a failed write never came true. */
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
