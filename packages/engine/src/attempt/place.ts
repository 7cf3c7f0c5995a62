/**
 * Stage 2: waits for a slot. The limit counts all processes of the project: a slot is a row that the run at the head of
 * the queue takes in one immediate transaction.
 */
import { explainError } from '@caisson/ground';
import { type AdmittedRun, type DispatchRooms, poolOf } from '../admission/index.ts';
import { NO_ATTEMPT, type RunRecord } from '../ledger/index.ts';

/** How often a waiting run that is woken checks that those before it are still alive. */
const LOOK_MS = 1000;

/** Resolves when the run may be next, once in a while, and when aborted. */
export type AwaitTurn = (
  waiting: { readonly pool: string; readonly runId: string },
  signal: AbortSignal,
) => Promise<void>;

/** Resolves `placed` with the slot taken, or `aborted`: then the run's ending removes it from the queue. */
export async function place(
  rooms: DispatchRooms,
  run: AdmittedRun,
  record: RunRecord,
  signal: AbortSignal,
  awaitTurn: AwaitTurn,
): Promise<'placed' | 'aborted'> {
  const { ledger, settings, hostId, clock } = rooms;
  const pool = poolOf(run);
  const request = { pool, runId: run.runId, hostId, limit: settings.concurrency };
  const take = (): boolean =>
    !signal.aborted && ledger.leases.tryTake({ ...request, nowMs: clock.wallMs() }) === 'taken';
  const tryTake = (): Promise<boolean> =>
    ledger.whenFree(take, signal).catch((error: unknown) => {
      if (signal.aborted) return false;
      throw error;
    });
  if (await tryTake()) return 'placed';
  if (!signal.aborted) {
    const position = ledger.leases.positionOf(pool, run.runId, clock.wallMs());
    await record.append('run.queued', { position, limit: settings.concurrency }, NO_ATTEMPT);
  }
  let reported: string | null = null;
  let lookAtMs = clock.monotonicMs() + LOOK_MS;
  while (!signal.aborted) {
    if (await tryTake()) {
      record.publish('run.placed', {}, 0);
      return 'placed';
    }
    if (clock.monotonicMs() < lookAtMs) {
      await awaitTurn({ pool, runId: run.runId }, signal);
      continue;
    }
    const failure = await findFailure(rooms.recoverDead());
    if (failure !== null && failure !== reported)
      record.keep('warning', { source: 'recovery', message: failure.slice(0, 4000) }, NO_ATTEMPT);
    reported = failure ?? reported;
    lookAtMs = clock.monotonicMs() + LOOK_MS;
  }
  return 'aborted';
}

function findFailure(work: Promise<unknown>): Promise<string | null> {
  return work.then(() => null, explainError);
}
