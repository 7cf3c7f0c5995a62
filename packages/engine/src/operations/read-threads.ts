/** Threads, as the ledger records them. */
import type { ThreadView } from '@caisson/protocol';
import type { Ledger } from '../ledger/index.ts';
import { ThreadNotFoundError } from './resident-errors.ts';

const MIN_CHARACTERS = 4;

/** The thread of a whole id, a unique beginning or ending of one, or `latest`. */
export function resolveThreadId(ledger: Ledger, given: string): string {
  if (ledger.thread(given) !== null) return given;
  if (given === 'latest') {
    const [latest] = ledger.threads({ newestFirst: true, limit: 1 });
    if (latest !== undefined) return latest.threadId;
  }
  const fitting = given.length < MIN_CHARACTERS ? [] : findFitting(ledger, given);
  const [only] = fitting;
  if (only === undefined || fitting.length > 1) throw new ThreadNotFoundError(given, fitting);
  return only;
}

function findFitting(ledger: Ledger, given: string): string[] {
  return ledger
    .threads()
    .map(({ threadId }) => threadId)
    .filter((id) => id.endsWith(given) || id.startsWith(given) || id.startsWith(`thread_${given}`));
}

/** The room is loaded when it is needed. */
export async function requireThread(ledger: Ledger, threadId: string): Promise<ThreadView> {
  const { showThread } = await import('../residents/index.ts');
  const thread = showThread(ledger, threadId);
  if (thread === null) throw new ThreadNotFoundError(threadId);
  return thread;
}
