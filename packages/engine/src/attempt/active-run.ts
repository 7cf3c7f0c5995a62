import { RunLeftError, type AdmittedRun } from '../admission/index.ts';
import type { FollowedAttempt } from './follow.ts';
import { orAborted } from '../platform/index.ts';
import type { RunRecord } from '../ledger/index.ts';

/** A run that is under way in this host. */
export interface ActiveRun {
  readonly run: Pick<AdmittedRun, 'runId'>;
  readonly record: RunRecord;
  /** With which this host owns it. */
  readonly epoch: number;
  /** Its worker is being taken over: a host that leaves leaves it as it is. */
  isAdopting: boolean;
  /** Aborted after the run's last event. */
  readonly over: AbortController;
  readonly abort: AbortController;
  /** When the run was accepted, and when its last worker was started; monotonic. */
  readonly acceptedMs: number;
  workerStartedMs: number | null;
  /** The attempt under way, if there is a worker. */
  followed: FollowedAttempt | null;
  /** Messages for a worker that does not exist yet. */
  readonly unsent: { kind: 'message'; id: string; body: string }[];
  isShutdown: boolean;
  /** Another host drives it, or will. */
  isLost: boolean;
  isInterrupt: boolean;
  /** Aborted when the host ends. */
  readonly closing: AbortSignal;
  /** Aborted when the host must not wait for this run's ending any longer (until-settled.ts). */
  readonly leave: AbortController;
  isSettling: boolean;
  /** Resolves when the person who reads along has everything of the last attempt. */
  delivered: Promise<void>;
  /** Aborted by a forced stop: a reader is not waited for any longer. */
  readonly forced: AbortController;
}

export function describeActiveRun(
  given: Pick<ActiveRun, 'run' | 'record' | 'epoch' | 'isAdopting' | 'acceptedMs' | 'closing'>,
): ActiveRun {
  return {
    ...given,
    over: new AbortController(),
    abort: new AbortController(),
    workerStartedMs: null,
    followed: null,
    unsent: [],
    isShutdown: given.closing.aborted,
    isLost: false,
    isInterrupt: false,
    leave: new AbortController(),
    isSettling: false,
    delivered: Promise.resolve(),
    forced: new AbortController(),
  };
}

/** Leaves the run to the next host; true if its worker goes on without one. What is being settled is not left. */
export function leaveRun({ run, followed, isAdopting, leave }: ActiveRun): boolean {
  if (isAdopting) {
    leave.abort(new RunLeftError(run.runId));
    return true;
  }
  if (followed === null || !followed.isAdoptable || !followed.hasStarted()) return false;
  followed.supervision.leave(new RunLeftError(run.runId));
  return true;
}

/** Why a run is aborted that a person, or its program, stops; its host goes on. */
export class StopOrderedError extends Error {
  constructor() {
    super('it was ordered to stop');
  }
}

export function stopRun(entry: ActiveRun, options: { force: boolean }): void {
  entry.abort.abort(entry.isShutdown ? undefined : new StopOrderedError());
  if (options.force) entry.forced.abort();
  if (entry.isSettling && (options.force || entry.closing.aborted)) entry.leave.abort();
  const reason = entry.isShutdown ? 'shutdown' : entry.isInterrupt ? 'interrupt' : 'user';
  entry.followed?.supervision.stop(reason, options);
}

/** Aborted when the run, or its host, must end: also a push, whose remote may be silent for long. */
export function orderedToStop({ abort, closing }: ActiveRun): AbortSignal {
  return AbortSignal.any([abort.signal, closing]);
}

/** A reader that is stuck is left at a forced stop: what it did not take is in the log. */
export async function awaitDelivery({ forced, delivered }: ActiveRun): Promise<void> {
  await orAborted(forced.signal, delivered).catch(() => undefined);
}

/** From the start of the last worker; from acceptance if no worker was started. */
export function durationOf(entry: ActiveRun, nowMs: number): number {
  return Math.round(nowMs - (entry.workerStartedMs ?? entry.acceptedMs));
}
