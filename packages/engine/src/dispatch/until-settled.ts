/**
 * Once a worker was launched there may be work, so no write that fails may end the run. A run without a worker waits here
 * for its ending to be recorded.
 * U1  While the ledger cannot record the ending, settling is tried again for as long as this host lives. Slot, folder and
 *     workspace are kept, and everybody who listens is told what it waits for.
 * U2  What fails beside the ledger is tried PATIENT_TRIES times; then the run ends, and says what could not be kept.
 * U3  A host that is told to leave (a shutdown, or a forced stop after settling began) makes one more try of limited
 *     length, and leaves the run as it is. Recovery settles it.
 */
import { explainError, type Clock } from '@caisson/ground';
import { isOutage } from '../ledger/index.ts';
import { backoffMs } from '../platform/index.ts';
import type { ActiveRun } from './active-run.ts';
import { RunUnsettledError } from './errors.ts';
import { orAborted } from './or-aborted.ts';
import { pause } from './pause.ts';
import { isPassing, type MayPass } from './passing-failure.ts';

const PATIENT_TRIES = 6;
const LONGEST_PAUSE_MS = 30_000;
/** For a try that is under way when the host is told to leave. */
const LAST_TRY_MS = 5_000;
/** For one that begins after the shutdown: it has all of its work before it. */
const ONLY_TRY_MS = 30_000;

/** `work` must be repeatable, and throw what `mayPass` is true for. */
export async function untilSettled<T>(
  { clock }: { readonly clock: Clock },
  entry: ActiveRun,
  attempt: number,
  work: (mayPass: MayPass) => Promise<T>,
): Promise<T> {
  const { record, run } = entry;
  const { signal } = entry.leave;
  const lastTry = limitLastTry(clock, entry);
  entry.isSettling = true;
  try {
    for (let tries = 0; ; tries += 1) {
      const mayPass = tries < PATIENT_TRIES ? isPassing : isOutage;
      try {
        return await orAborted(lastTry.signal, work(mayPass));
      } catch (error) {
        if (!lastTry.signal.aborted && !mayPass(error)) throw error;
        const delayMs = backoffMs(tries, { maxMs: LONGEST_PAUSE_MS });
        if (!signal.aborted && !entry.closing.aborted) {
          record.tell('settle.waiting', { reason: explainError(error), delayMs }, attempt);
          await pause(clock, delayMs, signal);
        }
        if (signal.aborted || entry.closing.aborted) throw new RunUnsettledError(run.runId, error); // U3
      }
    }
  } finally {
    entry.isSettling = false;
    lastTry.cancel();
  }
}

function limitLastTry(clock: Clock, { leave, closing }: ActiveRun): { signal: AbortSignal; cancel(): void } {
  const over = new AbortController();
  let cancel = (): void => undefined;
  const limitTo = (ms: number): void => {
    cancel();
    cancel = clock.setTimer(ms, () => over.abort(new Error('the host was told to leave')));
  };
  const onLeave = (): void => limitTo(LAST_TRY_MS);
  if (leave.signal.aborted) onLeave();
  else if (closing.aborted) limitTo(ONLY_TRY_MS);
  leave.signal.addEventListener('abort', onLeave, { once: true });
  return {
    signal: over.signal,
    cancel() {
      leave.signal.removeEventListener('abort', onLeave);
      cancel();
    },
  };
}
