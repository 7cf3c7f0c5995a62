/**
 * The time of a thread that counts for its timeout: while a host drives it, by a clock that does not jump. Not while it only
 * sleeps or asks a person, while its key cannot work, and while there is no daemon. What is left is kept beside the ledger.
 */
import type { ThreadRow } from '@caisson/protocol';
import { CountedTime } from './counted-time.ts';
import type { ThreadRooms } from './thread-rooms.ts';

const SPACE = 'thread-time-left';

type Rooms = Pick<ThreadRooms, 'clock' | 'ledger' | 'warn'>;

export function createThreadTime(rooms: Rooms, row: ThreadRow, onOver: (why: string) => void): CountedTime {
  const { ledger, clock } = rooms;
  const { threadId, timeoutMs } = row;
  const onCounted = (leftMs: number): void =>
    tryToKeep(rooms, threadId, () => ledger.kv.set(SPACE, threadId, leftMs));
  return new CountedTime(clock, findLeftMs(rooms, row), {
    onOver: () => onOver(`its time of ${timeoutMs} ms is over`),
    onCounted,
  });
}

/** Of a thread that has ended. */
export function forgetThreadTime(rooms: Rooms, threadId: string): void {
  tryToKeep(rooms, threadId, () => rooms.ledger.kv.delete(SPACE, threadId));
}

/** A thread whose host was killed before it kept anything has used the time up to its last event. */
function findLeftMs({ ledger }: Rooms, row: ThreadRow): number {
  const { threadId, timeoutMs, startedAt, pausedMs = 0, pausedSince } = row;
  const kept = ledger.kv.get(SPACE, threadId);
  if (typeof kept === 'number') return kept;
  const until = pausedSince ?? ledger.read({ runId: threadId }).at(-1)?.at;
  if (startedAt === undefined || until === undefined) return timeoutMs;
  return timeoutMs - Math.max(0, Date.parse(until) - Date.parse(startedAt) - pausedMs);
}

function tryToKeep({ warn }: Rooms, threadId: string, keep: () => unknown): void {
  try {
    keep();
  } catch (error) {
    warn(`what is left of the time of ${threadId} is not kept: ${(error as Error).message}`);
  }
}
