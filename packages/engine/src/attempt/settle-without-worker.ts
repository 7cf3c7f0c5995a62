/** The end of a run without a worker: none was started, or the last attempt is over and the next did not begin. */
import {
  definedOnly,
  isRetryable,
  type DataOf,
  type DurableType,
  type EventContent,
  type Failure,
  type RunBranch,
} from '@caisson/protocol';
import { durationOf, orderedToStop, type ActiveRun } from './active-run.ts';
import { orWarn } from './clean-up.ts';
import type { DispatchRooms } from '../admission/index.ts';
import { recordNothingLeft } from './flow-events.ts';
import { findLeftWork } from './left-work.ts';
import type { MayPass } from './passing-failure.ts';
import { pushBranch } from './push-branch.ts';
import { settleBranch } from './settle-branch.ts';
import { untilSettled } from './until-settled.ts';
import { recordInReserve } from './with-reserve.ts';

/** An attempt whose worker never started: the run gets the reason, and may be tried again. */
export async function settleWithoutWorker(
  rooms: DispatchRooms,
  entry: ActiveRun,
  input: {
    attempt: number;
    failure: Failure;
    retry: { attemptsLeft: number; delayMs: number };
  },
): Promise<'retry' | 'ended'> {
  const { attempt, failure, retry } = input;
  if (retry.attemptsLeft > 0 && isRetryable(failure)) {
    const next = { failure, nextAttempt: attempt + 1, delayMs: retry.delayMs };
    await recordKept(rooms, entry, attempt, 'attempt.ended', () => Promise.resolve(next));
    return 'retry';
  }
  await end(rooms, entry, { failure }, attempt);
  return 'ended';
}

/** A cancel without a worker. `attempt` is the one that was being prepared, if one was. */
export async function cancelWithoutWorker(
  rooms: DispatchRooms,
  entry: ActiveRun,
  attempt?: number,
): Promise<void> {
  const cause = entry.isShutdown ? 'shutdown' : 'user';
  await end(rooms, entry, { cause }, attempt);
}

/** The work of earlier attempts is not lost: the ending names it. */
async function end(
  rooms: DispatchRooms,
  entry: ActiveRun,
  ending: Pick<DataOf<'dispatch.failed'>, 'failure'> | Pick<DataOf<'dispatch.cancelled'>, 'cause'>,
  attempt?: number,
): Promise<void> {
  const { runId } = entry.run;
  const left = findLeftWork(rooms, runId);
  const own = attempt ?? left.attempt;
  const durationMs = durationOf(entry, rooms.clock.monotonicMs());
  const type = 'failure' in ending ? 'dispatch.failed' : 'dispatch.cancelled';
  let made: RunBranch | undefined;
  await recordKept(rooms, entry, own, type, async (mayPass) => {
    const { branch } = await settleBranch(rooms, runId, left.data, mayPass);
    made = branch;
    return { durationMs, ...ending, ...left.data, ...definedOnly({ branch }) };
  });
  rooms.budget.settle(runId, undefined);
  await orWarn(entry.record, own, 'evidence', () => rooms.seal(runId));
  await orWarn(entry.record, own, 'push', () =>
    pushBranch(rooms, entry.record, runId, { signal: orderedToStop(entry) }),
  );
  recordNothingLeft(entry.record, { runId, attempt: own }, made);
}

/** Without its record the run would keep its slot for as long as this host lives: a living host is not recovered. */
async function recordKept<T extends DurableType>(
  rooms: DispatchRooms,
  entry: ActiveRun,
  attempt: number,
  type: T,
  compose: (mayPass: MayPass) => Promise<DataOf<T>>,
): Promise<void> {
  await untilSettled(rooms, entry, attempt, async (mayPass) => {
    if (rooms.ledger.run(entry.run.runId)?.ending !== undefined) return;
    const data = await compose(mayPass);
    await recordInReserve(rooms, entry.record, attempt, [{ type, data } as EventContent<DurableType>]);
  });
}
