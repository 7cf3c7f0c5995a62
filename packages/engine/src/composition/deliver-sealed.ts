/** Delivers a sealed result to every sink, several times if needed; the run has ended in any case. */
import type { Clock } from '@caisson/ground';
import type { ResultSink, SealedResult } from '../evidence/index.ts';
import { backoffMs } from '../platform/index.ts';

const MAX_TRIES = 3;
const FIRST_PAUSE_MS = 200;
/** A sink that does not answer for this long has failed; a run's caller waits for its sinks. */
const TRY_MS = 10_000;

type SinkClock = Pick<Clock, 'setTimer'>;

/** Never rejects. Resolves with a message for every sink that failed. */
export async function deliverSealed(
  sinks: readonly ResultSink[],
  sealed: SealedResult,
  clock: SinkClock,
): Promise<readonly string[]> {
  const said = await Promise.all(sinks.map((sink) => deliverTo(sink, sealed, clock)));
  return said.filter((message) => message !== null);
}

async function deliverTo(sink: ResultSink, sealed: SealedResult, clock: SinkClock): Promise<string | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await deliverOnce(sink, sealed, clock);
      return null;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (attempt === MAX_TRIES)
        return `result sink ${sink.name} failed ${MAX_TRIES} times, the last time with: ${reason.slice(0, 2000)}`;
      await new Promise<void>((resolve) => {
        clock.setTimer(backoffMs(attempt - 1, { baseMs: FIRST_PAUSE_MS }), resolve);
      });
    }
  }
}

/** The signal informs a sink that the caller no longer waits; one that ignores it is abandoned. */
async function deliverOnce(sink: ResultSink, sealed: SealedResult, clock: SinkClock): Promise<void> {
  const overdue = new AbortController();
  const expired = Promise.withResolvers<never>();
  const cancel = clock.setTimer(TRY_MS, () => {
    const reason = new Error(`no answer within ${TRY_MS / 1000} s`);
    overdue.abort(reason);
    expired.reject(reason);
  });
  try {
    await Promise.race([sink.deliver(sealed, overdue.signal), expired.promise]);
  } finally {
    cancel();
  }
}
