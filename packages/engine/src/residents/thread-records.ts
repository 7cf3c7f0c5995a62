import { definedOnly, type DataOf, type ThreadEnding } from '@caisson/protocol';
import { isRefusal, type Ledger } from '../ledger/index.ts';
import { persist } from './persist.ts';
import type { ThreadRooms } from './thread-rooms.ts';
import type { ThreadTimes } from './thread-time.ts';

const MAX_DETAIL = 8192;
/** Each refusal is of a question that was closed meanwhile. */
const MAX_TRIES = 100;

export interface RecordRooms extends ThreadRooms {
  readonly times: ThreadTimes;
}

/** Records the ending, and closes what was asked. False when the thread had ended before (RE8). */
export async function recordEnding(
  rooms: RecordRooms,
  threadId: string,
  status: ThreadEnding,
  detail: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const { ledger, recorder, clock } = rooms;
  for (let tries = 1; ; tries += 1) {
    const row = ledger.thread(threadId);
    if (row === null || row.endedAt !== undefined) return false;
    const sinceMs = Date.parse(row.startedAt ?? row.acceptedAt);
    const ending: DataOf<'thread.ended'> = {
      status,
      ...definedOnly({ detail: detail?.slice(0, MAX_DETAIL) }),
      rounds: row.rounds,
      durationMs: Math.max(0, clock.wallMs() - sinceMs),
    };
    const events = [...closeQuestions(ledger, threadId), { type: 'thread.ended' as const, data: ending }];
    try {
      await persist(rooms, signal, () => recorder.of(threadId).appendAll(events, 0));
      rooms.times.forget(threadId);
      return true;
    } catch (error) {
      if (!isRefusal(error) || tries === MAX_TRIES) throw error; // it was answered or ended meanwhile: look again
    }
  }
}

/** Records the message of the present round, and returns that round. */
export async function recordMessage(
  rooms: ThreadRooms,
  threadId: string,
  message: { readonly role: string; readonly content: unknown },
  signal: AbortSignal,
): Promise<number> {
  const { ledger, recorder } = rooms;
  for (let tries = 1; ; tries += 1) {
    const round = ledger.thread(threadId)?.rounds ?? 0;
    const questions = closeQuestions(ledger, threadId);
    const events = [...questions, { type: 'thread.message' as const, data: { round, ...message } }];
    try {
      await persist(rooms, signal, () => recorder.of(threadId).appendAll(events, 0));
      return round;
    } catch (error) {
      if (!isRefusal(error) || questions.length === 0 || tries === MAX_TRIES) throw error; // look again
    }
  }
}

/** What the role asked and did not wait for. */
function closeQuestions(ledger: Ledger, threadId: string) {
  return ledger
    .questions({ runId: threadId, status: 'open' })
    .map(({ questionId }) => ({ type: 'question.expired' as const, data: { questionId } }));
}
