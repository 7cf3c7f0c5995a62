/**
 * Which events of the project were seen.
 * F1  A recorded event is passed on once, in the order of its offset.
 * F2  A new connection asks for what follows the last offset, so nothing is missed between two connections.
 * F3  What is only published (`seq` 0) has no place, and is passed on as it comes.
 */
import type { WireEvent } from '@caisson/protocol';

export class FeedPosition {
  #offset: number | null = null;

  /** The last offset; null until a recorded event came. */
  get offset(): number | null {
    return this.#offset;
  }

  /** Whether the event is new. */
  accept({ seq, offset }: Pick<WireEvent, 'seq' | 'offset'>): boolean {
    if (seq === 0) return true;
    if (this.#offset !== null && offset <= this.#offset) return false;
    this.#offset = offset;
    return true;
  }
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/** How long to wait before another try: longer each time, and never the same for all pages at once. */
export function resolveWaitMs(failures: number, random: number): number {
  const full = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, failures - 1));
  return Math.round(full * (0.5 + random / 2));
}
