/**
 * The time of a thread that counts for its timeout: while a host drives it, by a clock that does not jump. Not while it only
 * sleeps or asks a person, while its key cannot work and no run of its own goes on, and while there is no daemon. What is left is
 * kept beside the ledger: of all threads together, a moment after it changed, so that threads that pause often cost one commit.
 */
import type { ThreadRow } from '@caisson/protocol';
import { CountedTime, REPORT_MS } from './counted-time.ts';
import type { ThreadRooms } from './thread-rooms.ts';

const SPACE = 'thread-time-left';
const WRITE_MS = 1000;
/** A host that drives a thread for longer has kept what is left of its time. */
const UNKEPT_MS = REPORT_MS + WRITE_MS;

export type TimeRooms = Pick<ThreadRooms, 'clock' | 'ledger' | 'warn'>;

export class ThreadTimes {
  readonly #rooms: TimeRooms;
  /** What is left of each, and null of those that have ended, where it is not written yet. */
  readonly #changed = new Map<string, number | null>();
  #cancelWrite: (() => void) | null = null;

  constructor(rooms: TimeRooms) {
    this.#rooms = rooms;
  }

  /** Of a thread that a host begins to drive. */
  open(row: ThreadRow, onOver: (why: string) => void): CountedTime {
    const { threadId, timeoutMs } = row;
    return new CountedTime(this.#rooms.clock, this.#findLeftMs(row), {
      onOver: () => onOver(`its time of ${timeoutMs} ms is over`),
      onCounted: (leftMs) => this.#set(threadId, leftMs),
    });
  }

  /** Of a thread that has ended. */
  forget(threadId: string): void {
    this.#set(threadId, null);
  }

  /** What an earlier host kept of threads that have ended: it was killed before it removed that. */
  forgetEnded(): void {
    const { ledger } = this.#rooms;
    for (const { key: threadId } of ledger.kv.list(SPACE)) {
      const row = ledger.thread(threadId);
      if (row === null || row.endedAt !== undefined) this.forget(threadId);
    }
  }

  /** Resolves when everything is written, or cannot be. */
  async stop(): Promise<void> {
    if (this.#changed.size > 0) await this.#write();
  }

  #set(threadId: string, leftMs: number | null): void {
    this.#changed.set(threadId, leftMs);
    this.#cancelWrite ??= this.#rooms.clock.setTimer(WRITE_MS, () => void this.#write());
  }

  /** What cannot be written is written with the next change. Never rejects. */
  async #write(): Promise<void> {
    this.#cancelWrite?.();
    this.#cancelWrite = null;
    const { ledger, warn } = this.#rooms;
    try {
      await ledger.whenFree(() => {
        ledger.alone(() => {
          for (const [threadId, leftMs] of this.#changed)
            if (leftMs === null) ledger.kv.delete(SPACE, threadId);
            else ledger.kv.set(SPACE, threadId, leftMs);
        });
        this.#changed.clear();
      });
    } catch (error) {
      warn(`what is left of the time of threads is not kept: ${(error as Error).message}`);
    }
  }

  /**
   * A thread whose hosts were all killed before they kept anything has used the time up to its last event, and no more than one of
   * them counts before it keeps it: the rest went by without a host, or the clock was set.
   */
  #findLeftMs({ threadId, timeoutMs, startedAt, pausedMs = 0, pausedSince }: ThreadRow): number {
    const { ledger } = this.#rooms;
    const kept = this.#changed.get(threadId) ?? ledger.kv.get(SPACE, threadId);
    if (typeof kept === 'number') return kept;
    const until = pausedSince ?? ledger.read({ runId: threadId }).at(-1)?.at;
    if (startedAt === undefined || until === undefined) return timeoutMs;
    const sinceMs = Date.parse(until) - Date.parse(startedAt) - pausedMs;
    return timeoutMs - Math.min(UNKEPT_MS, Math.max(0, sinceMs));
  }
}
