/** The acceptance of a thread: what is recorded, and under which id. */
import { createHash } from 'node:crypto';
import { createId, definedOnly, MAX_CAUSES, MAX_PAYLOAD_BYTES, type DataOf } from '@caisson/protocol';
import type { Ledger } from '../ledger/index.ts';
import { createPrefixedId } from '../platform/index.ts';
import type { Threads } from './contract.ts';
import { sizeOf } from './plan-step.ts';
import { findThreadCauses } from './run-causes.ts';
import { ThreadRefusedError } from './thread-errors.ts';
import { readHistory } from './thread-history.ts';
import type { ThreadRooms, ThreadSettings } from './thread-rooms.ts';

export type ThreadStart = Parameters<Threads['start']>[0];

/** The same key of the same workflow is always the same thread. */
export function chooseThreadId({ clock }: Pick<ThreadRooms, 'clock'>, start: ThreadStart): string {
  if (start.idempotencyKey === undefined) return createPrefixedId('thread', clock);
  const digest = createHash('sha256')
    .update(JSON.stringify([start.workflow, start.idempotencyKey]))
    .digest();
  return createId('thread', digest.readUIntBE(0, 6), digest.subarray(6));
}

/** Throws ThreadRefusedError. */
export function composeAcceptance(
  ledger: Ledger,
  { workflow, trigger, payload, causes, continues }: ThreadStart,
  { maxRounds, timeoutMs }: ThreadSettings,
): DataOf<'thread.accepted'> {
  const earlier = continues === undefined ? null : requireEnded(ledger, workflow, continues);
  const given = payload ?? earlier ?? null;
  const inherited = continues === undefined ? [] : findThreadCauses(ledger, continues);
  if (sizeOf(given) > MAX_PAYLOAD_BYTES)
    throw new ThreadRefusedError(`the payload of a thread has at most ${MAX_PAYLOAD_BYTES} bytes`);
  return {
    workflow,
    trigger,
    payload: given,
    causes: [...inherited, ...causes].slice(-MAX_CAUSES),
    maxRounds,
    timeoutMs,
    ...definedOnly({ continues }),
  };
}

/** The payload of the thread that is continued. */
function requireEnded(ledger: Ledger, workflow: string, threadId: string): unknown {
  const row = ledger.thread(threadId);
  if (row === null || row.workflow !== workflow)
    throw new ThreadRefusedError(`the workflow ${workflow} has no thread ${threadId}`);
  if (row.endedAt === undefined)
    throw new ThreadRefusedError(`${threadId} has not ended; only an ended thread can be continued`);
  return readHistory(ledger, row).payload;
}
