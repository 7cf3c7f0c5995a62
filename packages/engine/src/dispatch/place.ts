/**
 * Stage 2: waits for a slot. The limit holds across all processes of the project: a slot is a row that is taken in
 * one immediate transaction by the run at the head of the queue.
 */
import type { AdmittedRun, DispatchRooms } from './contract.ts';
import { poolOf } from './admission-checks.ts';
import type { RunRecord } from './run-record.ts';

const POLL_MS = 250;

/** Resolves `placed` with the slot taken, or `aborted` with the queue left. */
export async function place(
  rooms: DispatchRooms,
  run: AdmittedRun,
  record: RunRecord,
  signal: AbortSignal,
): Promise<'placed' | 'aborted'> {
  const { ledger, settings, hostId } = rooms;
  const pool = poolOf(run);
  const request = { pool, runId: run.runId, hostId, limit: settings.concurrency };
  const tryTake = (): boolean => ledger.leases.tryTake(request) === 'taken';
  if (!signal.aborted && tryTake()) return 'placed';
  if (!signal.aborted) {
    const position = ledger.leases.listQueue(pool).findIndex((row) => row.runId === run.runId) + 1;
    await record.append('run.queued', { position, limit: settings.concurrency });
  }
  while (!signal.aborted) {
    await nextChange(rooms, signal);
    if (!signal.aborted && tryTake()) return 'placed';
  }
  ledger.leases.dequeue(run.runId);
  return 'aborted';
}

/** Wakes when anything was committed by anyone, after a short poll, or when aborted. */
function nextChange(rooms: DispatchRooms, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stopWatching();
      cancelPoll();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const stopWatching = rooms.ledger.watch(done);
    const cancelPoll = rooms.clock.setTimer(POLL_MS, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
