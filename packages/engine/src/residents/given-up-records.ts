/**
 * Which threads are being given up: cancelled, or out of time. It is kept beside the ledger before their runs are cancelled. A host
 * that is killed before the ending is recorded leaves that to the next one, which ends the thread instead of going on with it.
 */
import { definedOnly, isRecord } from '@caisson/protocol';
import { cancelRuns } from './cancel-runs.ts';
import { recordEnding, type RecordRooms } from './thread-records.ts';

const SPACE = 'threads-given-up';

export interface GivingUp {
  readonly status: 'cancelled' | 'timeout';
  readonly detail?: string | undefined;
}

/** Does the work that ends a thread and records its ending. */
export async function whileGivenUp<T>(
  rooms: Pick<RecordRooms, 'ledger' | 'warn'>,
  threadId: string,
  how: GivingUp,
  work: () => Promise<T>,
): Promise<T> {
  const { ledger, warn } = rooms;
  const kept = ledger.whenFree(() => ledger.kv.set(SPACE, threadId, { ...definedOnly({ ...how }) }));
  await kept.catch((error: unknown) =>
    warn(`that ${threadId} is given up is not kept: ${(error as Error).message}`),
  );
  const result = await work();
  await forget(rooms, threadId);
  return result;
}

/** A thread that nobody drives: it is queued, its workflow is not declared, or an earlier host gave it up. */
export async function cancelRecorded(
  rooms: RecordRooms,
  threadId: string,
  signal: AbortSignal,
  how: GivingUp = { status: 'cancelled' },
): Promise<void> {
  const waitsFor = rooms.ledger.thread(threadId)?.waitsFor ?? [];
  const runs = waitsFor.flatMap(({ runIds = [] }) => runIds);
  await whileGivenUp(rooms, threadId, how, async () => {
    await cancelRuns(rooms, runs);
    await recordEnding(rooms, threadId, how.status, how.detail, signal);
  });
}

/** Ends the threads of a workflow that an earlier host was giving up; whether there were any. */
export async function endGivenUp(
  rooms: RecordRooms,
  workflow: string,
  isDriven: (threadId: string) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  let isAny = false;
  for (const { key: threadId, value } of rooms.ledger.kv.list(SPACE)) {
    const row = rooms.ledger.thread(threadId);
    if (row === null || row.endedAt !== undefined) await forget(rooms, threadId);
    else if (row.workflow === workflow && !isDriven(threadId)) {
      await cancelRecorded(rooms, threadId, signal, readHow(value));
      isAny = true;
    }
  }
  return isAny;
}

function readHow(value: unknown): GivingUp {
  const { status, detail } = isRecord(value) ? value : {};
  return {
    status: status === 'timeout' ? 'timeout' : 'cancelled',
    ...(typeof detail === 'string' ? { detail } : {}),
  };
}

/** Never rejects: what is left is removed by the next host. */
async function forget({ ledger }: Pick<RecordRooms, 'ledger'>, threadId: string): Promise<void> {
  await ledger.whenFree(() => ledger.kv.delete(SPACE, threadId)).catch(() => undefined);
}
