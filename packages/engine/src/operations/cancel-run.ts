/**
 * Asks the host that owns the run; when that host is dead, settles the run instead, also one whose worker goes on. A host that
 * exists and does not answer (stopped, or overloaded) still has the order, and carries it out once it runs again. One that
 * leaves the run to the next host (or has just taken it over) does not: it is asked again until another one has the run, for some
 * time: then nobody has the order (`not-driven`).
 */
import { RunLeftError } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { HostUnreachableError } from '../hosts/index.ts';
import type { RunRow } from '../ledger/index.ts';
import { backoffMs, pause } from '../platform/index.ts';

export type CancelOutcome = 'asked' | 'ended-already' | 'settled' | 'unanswered' | 'not-driven';

export interface CancelOptions {
  readonly force?: boolean;
  readonly interrupt?: boolean;
}

const AGAIN = { baseMs: 100, maxMs: 2000 };
/** A host that leaves is gone by then. */
const LEAVING_MS = 20_000;

/** Throws RunLeftError in a host that leaves the run. */
export async function cancelRun(
  engine: Engine,
  runId: string,
  options: CancelOptions = {},
): Promise<CancelOutcome> {
  const { clock } = engine;
  const { closing } = engine.dispatcher;
  const untilMs = clock.monotonicMs() + LEAVING_MS;
  for (let tries = 0; ; tries += 1) {
    const row = findCancellable(engine, runId);
    if (row === null) return 'ended-already';
    const outcome =
      row.host === engine.hostId ? stopOwn(engine, row, options) : await askHost(engine, row, options);
    if (outcome !== null) return outcome;
    if (closing.aborted || clock.monotonicMs() >= untilMs) return 'not-driven';
    await pause(clock, backoffMs(tries, AGAIN), closing);
  }
}

/** Until its host is done with the push of its branch, an ended run can still be stopped. */
export function findCancellable({ ledger }: Pick<Engine, 'ledger'>, runId: string): RunRow | null {
  const row = ledger.run(runId);
  return row !== null && (row.ending === undefined || row.waitingBranch === 'pending') ? row : null;
}

function stopOwn({ dispatcher }: Engine, { runId, ending }: RunRow, options: CancelOptions): CancelOutcome {
  const own = dispatcher.active(runId);
  if (own === null && ending === undefined) throw new RunLeftError(runId);
  own?.cancel(options);
  return own === null ? 'ended-already' : 'asked';
}

/** Null: another host has the run by now, or will. */
async function askHost(
  engine: Engine,
  { runId, host, ending }: RunRow,
  { force = false, interrupt = false }: CancelOptions,
): Promise<CancelOutcome | null> {
  try {
    const reply = await engine.hosts.order(host, { kind: 'cancel', runId, force, interrupt });
    if (reply.ok) return 'asked';
    return ending === undefined ? null : 'ended-already';
  } catch (error) {
    if (!(error instanceof HostUnreachableError)) throw error;
    if (ending !== undefined) return 'ended-already';
    await engine.recover({ cancelled: runId });
    const after = engine.ledger.run(runId);
    if (after?.ending !== undefined) return 'settled';
    const isGivenUp = engine.dispatcher.closing.aborted || after?.host !== host;
    return isGivenUp ? null : 'unanswered';
  }
}
