import type { AdmittedRun } from '../admission/index.ts';
import type { FollowedAttempt } from './follow.ts';
import type { RunRecord } from '../ledger/index.ts';

/** A run that is under way in this host. */
export interface ActiveRun {
  readonly run: AdmittedRun;
  readonly record: RunRecord;
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
  isInterrupt: boolean;
  /** Aborted when the host ends. */
  readonly closing: AbortSignal;
  /** Aborted when the host must not wait for this run's ending any longer (until-settled.ts). */
  readonly leave: AbortController;
  isSettling: boolean;
}

export function stopRun(entry: ActiveRun, options: { force: boolean }): void {
  entry.abort.abort();
  if (entry.isSettling && (options.force || entry.closing.aborted)) entry.leave.abort();
  const reason = entry.isShutdown ? 'shutdown' : entry.isInterrupt ? 'interrupt' : 'user';
  entry.followed?.supervision.stop(reason, options);
}

/** From the start of the last worker; from acceptance if no worker was started. */
export function durationOf(entry: ActiveRun, nowMs: number): number {
  return Math.round(nowMs - (entry.workerStartedMs ?? entry.acceptedMs));
}
