/** One attempt of a run, through the stages: prepare → launch → follow → settle. */
import { explainError, type NamedSecret } from '@caisson/ground';
import type { Ending, Failure, Job } from '@caisson/protocol';
import { WorkerStartError } from '../compute/index.ts';
import { LedgerGoneError } from '../ledger/index.ts';
import { awaitDelivery, durationOf, orderedToStop, stopRun, type ActiveRun } from './active-run.ts';
import { expectsHandoff, type AdmittedRun, type DispatchRooms } from '../admission/index.ts';
import type { AttemptRemains } from './attempt-remains.ts';
import { demandOwner } from './demand-owner.ts';
import { findEnding } from './find-ending.ts';
import { findUnreadableJob } from './find-unreadable-job.ts';
import { recordProcessesEnded } from './flow-events.ts';
import { describeFollowed, follow, type FollowedAttempt } from './follow.ts';
import { launch, type LaunchedAttempt, type LaunchEvent } from './launch.ts';
import { watchLogin } from './login-copy.ts';
import { prepare, type PreparedAttempt } from './prepare.ts';
import { PrepareFailure } from './prepare-failure.ts';
import { readResult } from './read-result.ts';
import { settle } from './settle.ts';
import { cancelWithoutWorker, settleWithoutWorker } from './settle-without-worker.ts';
import { untilSettled } from './until-settled.ts';
import { recordInReserve } from './with-reserve.ts';

export interface Retry {
  readonly attemptsLeft: number;
  readonly delayMs: number;
}

export async function runAttempt(
  rooms: DispatchRooms,
  entry: ActiveRun,
  run: AdmittedRun,
  attempt: number,
  retry: Retry,
): Promise<'retry' | 'ended'> {
  const { signal } = entry.abort;
  demandLedger(rooms);
  let prepared: PreparedAttempt | undefined;
  let launched: LaunchedAttempt;
  try {
    prepared = await prepare(rooms, run, entry.record, attempt, signal);
    signal.throwIfAborted();
    const startedMs = rooms.clock.monotonicMs();
    launched = await launch(rooms, run, prepared);
    entry.workerStartedMs = startedMs;
  } catch (error) {
    await prepared?.discard();
    if (!signal.aborted)
      return settleWithoutWorker(rooms, entry, { attempt, retry, failure: failureOf(error) });
    await cancelWithoutWorker(rooms, entry, attempt);
    return 'ended';
  }
  const { attempt: _same, job, ...parts } = prepared;
  const isForBranch = expectsHandoff(run.request);
  const followed = follow(
    rooms,
    describeFollowed(run),
    entry.record,
    {
      ...{ ...parts, attempt, attached: job.attached, isAdoptable: job.adoption !== undefined },
      launched: launched.launched,
      program: launched.program,
    },
    launched.worker,
  );
  try {
    return await settleFollowed(rooms, entry, {
      prepared: { ...parts, attempt, secrets: job.secrets, job, launched: launched.launched, isForBranch },
      followed,
      retry,
    });
  } catch (error) {
    // It never got `go`.
    if (rooms.ledger.isThere() && !isLaunchRecorded(rooms, run.runId, attempt)) await prepared.discard();
    throw error;
  }
}

/** What settling needs of an attempt that was prepared here, or by the host before. */
export interface SettledParts
  extends
    Pick<PreparedAttempt, 'attempt' | 'nonce' | 'paths' | 'workspace'>,
    Pick<AttemptRemains, 'isForBranch'> {
  readonly limits: Pick<PreparedAttempt['limits'], 'events' | 'release'>;
  readonly secrets: readonly NamedSecret[];
  /** Only of an attempt that was prepared here. */
  readonly job?: Job;
  readonly launched?: LaunchEvent;
}

/** Follows the worker to its end, and settles the attempt. */
export async function settleFollowed(
  rooms: DispatchRooms,
  entry: ActiveRun,
  { prepared, followed, retry }: { prepared: SettledParts; followed: FollowedAttempt; retry: Retry },
): Promise<'retry' | 'ended'> {
  const { runId } = entry.run;
  const { attempt, nonce, paths, workspace, isForBranch } = prepared;
  const stopWatching = watchLogin(rooms.settings, paths, (message) =>
    entry.record.keep('warning', { source: 'login', message }, { attempt }),
  );
  const end = await awaitEnd(entry, followed).finally(stopWatching);
  const release = async (): Promise<void> => {
    followed.closeWork();
    await prepared.limits.release();
  };
  if (!rooms.ledger.isThere()) await release();
  demandLedger(rooms);
  let isReported = false;
  const durationMs = durationOf(entry, rooms.clock.monotonicMs());
  const settled = await untilSettled(rooms, entry, attempt, async (mayPass) => {
    demandOwner(rooms, runId);
    await recordLaunch(rooms, entry, prepared);
    if (!isReported) recordProcessesEnded(entry.record, { runId, attempt, isForBranch }, end.survivors);
    isReported = true;
    const found = await readResult(paths.result, { runId, attempt, nonce }, mayPass);
    const ending = findEnding(found, end, prepared.limits, followed.seen());
    const input = {
      remains: { runId, attempt, paths, workspace, isForBranch, release, isProvenGone: end.isProvenGone },
      ending: shutdownAware(explainUnstarted(ending, prepared, followed), entry),
      found,
      durationMs,
      secrets: prepared.secrets,
      countUsage: followed.countUsage,
      findConversation: () =>
        followed.findConversation(found.kind === 'valid' ? found.result.resume : undefined),
      noPush: orderedToStop(entry),
      mayPass,
    };
    return settle(rooms, entry.record, input, retry);
  });
  if (settled.kind === 'retry') await awaitDelivery(entry); // before the next attempt prints
  return settled.kind;
}

/** A worker that was never ready has not recorded its launch yet. */
async function recordLaunch(
  rooms: DispatchRooms,
  { record, run }: ActiveRun,
  { attempt, launched }: SettledParts,
): Promise<void> {
  if (launched === undefined || isLaunchRecorded(rooms, run.runId, attempt)) return;
  await recordInReserve(rooms, record, attempt, [launched]);
}

function isLaunchRecorded({ ledger }: DispatchRooms, runId: string, attempt: number): boolean {
  return ledger.attempts(runId).some((row) => row.attempt === attempt && row.launchedAt !== undefined);
}

function explainUnstarted(ending: Ending, { job }: SettledParts, followed: FollowedAttempt): Ending {
  return followed.hasStarted() || job === undefined ? ending : (findUnreadableJob(ending, job) ?? ending);
}

/** The new worker gets earlier messages, and an order that came meanwhile. */
async function awaitEnd(entry: ActiveRun, followed: FollowedAttempt): FollowedAttempt['ended'] {
  entry.followed = followed;
  entry.delivered = followed.delivered;
  for (const message of entry.unsent.splice(0)) followed.supervision.send(message);
  if (entry.abort.signal.aborted) stopRun(entry, { force: false });
  try {
    return await followed.ended;
  } finally {
    entry.followed = null;
  }
}

/** Without it later events could not be recorded, and the missing folders would be made again. */
function demandLedger({ ledger }: DispatchRooms): void {
  if (!ledger.isThere()) throw new LedgerGoneError(ledger.file);
}

function shutdownAware(ending: Ending, entry: ActiveRun): Ending {
  return ending.kind === 'cancelled' && entry.isShutdown ? { kind: 'cancelled', cause: 'shutdown' } : ending;
}

/** The failure of a run when a stage before its worker failed. */
export function failureOf(error: unknown): Failure {
  if (error instanceof PrepareFailure) return error.failure;
  const detail = explainError(error).slice(0, 8000);
  return { reason: error instanceof WorkerStartError ? 'crashed' : 'worker-failed', detail };
}
