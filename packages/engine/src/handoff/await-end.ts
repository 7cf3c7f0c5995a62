import { startTimer } from '@caisson/ground';
import { TERMINAL_TYPES, type DispatchResult, type EventType } from '@caisson/protocol';
import type { PoolRun, WorkerPoolDeps } from './contract.ts';
import { WorkerTimeoutError, type WorkerPlace } from './errors.ts';

/** A run ends by its own deadline; if it has not after this much more, the pool gives it up. */
const OVERDUE_MS = 60_000;

const FOLLOWED: readonly EventType[] = ['dispatch.started', 'attempt.ended', ...TERMINAL_TYPES];

/** The run's ending. One that never comes back is cancelled, and rejects with {@link WorkerTimeoutError}. */
export async function awaitEnd(
  run: PoolRun,
  place: WorkerPlace,
  workerTimeoutS: number,
  deps: Pick<WorkerPoolDeps, 'setTimeout' | 'clearTimeout'>,
): Promise<DispatchResult> {
  const overdue = Promise.withResolvers<never>();
  overdue.promise.catch(() => undefined);
  const giveUp = (): void => {
    run.cancel({ force: true });
    overdue.reject(new WorkerTimeoutError(place, `did not end within ${workerTimeoutS} s`));
  };
  const reading = new AbortController();
  let stopTimer = (): void => undefined;
  const stop = (): void => stopTimer();
  const begin = (): void => {
    stop();
    stopTimer = startTimer(workerTimeoutS * 1000 + OVERDUE_MS, giveUp, deps);
  };
  if (run.events === undefined) begin();
  else void followAttempts(run.events, { begin, stop }, reading.signal);
  try {
    return await Promise.race([run.ended, overdue.promise]);
  } finally {
    reading.abort();
    stop();
  }
}

/** Each attempt has the whole time, from its start: a run may wait in the queue for long, and be pushed for long. */
async function followAttempts(
  events: NonNullable<PoolRun['events']>,
  timer: { begin(): void; stop(): void },
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { type } of events({ types: FOLLOWED, signal })) {
      if (signal.aborted) return;
      if (type === 'dispatch.started') timer.begin();
      else timer.stop();
    }
  } catch {
    // what is wrong with the run is said by its ending
  }
}
