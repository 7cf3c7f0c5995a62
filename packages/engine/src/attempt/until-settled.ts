/**
 * Once a worker was launched there may be work, so no write that fails may end the run. A run without a worker waits here
 * for its ending to be recorded.
 * U1  While the ledger cannot record the ending, settling is tried again for as long as this host lives. Slot, folder and
 *     workspace are kept, and every listener learns what it waits for.
 * U2  What fails beside the ledger is tried PATIENT_TRIES times; then the run ends, and says what could not be kept.
 *     A disk that is full is noted durably, with what takes the space, in case this host is killed while it waits.
 * U3  A host that must leave (a shutdown, or a forced stop after settling began) makes one more try of limited
 *     length, and leaves the run as it is. Recovery settles it.
 */
import { explainError, isDiskFull } from '@caisson/ground';
import { isOutage, LedgerFullError } from '../ledger/index.ts';
import { backoffMs, orAborted, pause } from '../platform/index.ts';
import type { ActiveRun } from './active-run.ts';
import { RunUnsettledError, type DispatchRooms } from '../admission/index.ts';
import { isPassing, type MayPass } from './passing-failure.ts';
import { describeLargest } from './state-usage.ts';
import { withReserve } from './with-reserve.ts';

const PATIENT_TRIES = 6;
const LONGEST_PAUSE_MS = 30_000;
/** For a try that is under way when the host must leave. */
const LAST_TRY_MS = 5_000;
/** For one that begins after the shutdown: it has all of its work to do. */
const ONLY_TRY_MS = 30_000;

/** `work` must be repeatable, and throw what `mayPass` is true for. */
export async function untilSettled<T>(
  rooms: Pick<DispatchRooms, 'clock' | 'settings' | 'freeReserve'>,
  entry: ActiveRun,
  attempt: number,
  work: (mayPass: MayPass) => Promise<T>,
): Promise<T> {
  const { clock } = rooms;
  const { record, run } = entry;
  const { signal } = entry.leave;
  const describe = createDescriber(rooms, entry, attempt);
  const lastTry = limitLastTry(rooms, entry);
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
          record.publish('settle.waiting', { reason: await describe(error), delayMs }, attempt);
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

/** The source of the warning that says what a run waits for; recovery reports it as the reason. */
export const WAIT_SOURCE = 'settle';

function createDescriber(
  rooms: Pick<DispatchRooms, 'settings' | 'freeReserve'>,
  { record }: ActiveRun,
  attempt: number,
): (error: unknown) => Promise<string> {
  let isNoted = false;
  return async (error) => {
    const reason = explainError(error);
    if (!(error instanceof LedgerFullError) && !isDiskFull(error)) return reason;
    const message = `${reason} ${await describeLargest(rooms.settings.stateDir)}`.trim();
    if (isNoted) return message;
    isNoted = true;
    const note = { source: WAIT_SOURCE, message: message.slice(0, 4000) };
    const write = (): Promise<unknown> => record.append('warning', note, { attempt });
    await withReserve(rooms, write, 1).catch(() => undefined); // it was reported; the rest is for the ending
    return message;
  };
}

function limitLastTry(
  { clock }: Pick<DispatchRooms, 'clock'>,
  { leave, closing }: ActiveRun,
): { signal: AbortSignal; cancel(): void } {
  const over = new AbortController();
  let cancel = (): void => undefined;
  const limitTo = (ms: number): void => {
    cancel();
    cancel = clock.setTimer(ms, () => over.abort(new Error('the host was ordered to leave')));
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
