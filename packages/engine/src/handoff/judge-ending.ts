/** What the ending of a task's run means for its pool: the hand-off, or the error that says why there is none. */
import type { DispatchResult, Handoff } from '@caisson/protocol';
import {
  HandoffShapeError,
  HandoffUnparseableError,
  NoOutputError,
  PushFailedError,
  WorkerFailedError,
  WorkerTimeoutError,
  type WorkerError,
  type WorkerPlace,
} from './errors.ts';

/** Throws a {@link WorkerError}. `isPushed`: the branch was to be pushed. */
export function judgeEnding(place: WorkerPlace, result: DispatchResult, isPushed: boolean): Handoff {
  const { handoff } = result;
  const problem = findProblem(place, result, isPushed);
  if (problem !== null) throw problem;
  if (handoff === undefined) throw new NoOutputError(place, 'the run left no hand-off');
  return handoff;
}

function findProblem(place: WorkerPlace, result: DispatchResult, isPushed: boolean): WorkerError | null {
  const { status, failure, handoff } = result;
  const why = failure?.detail ?? `its run ended as ${status}`;
  if (status === 'timeout') return describeTimeout(place, result, isPushed);
  if (failure?.reason === 'crashed' || failure?.reason === 'lost' || failure?.reason === 'output-invalid')
    return new NoOutputError(place, `no output: ${why}`, { handoff });
  if (status !== 'done') return new WorkerFailedError(place, why, { handoff });
  return findHandoffProblem(place, handoff) ?? findBranchProblem(place, result, isPushed);
}

function describeTimeout(place: WorkerPlace, result: DispatchResult, isPushed: boolean): WorkerError {
  const missing = findMissing(place, result, isPushed);
  // Not `retry`: without a conversation to resume, that begins again from the base.
  const goOn = `Go on from there: caisson continue ${place.runId ?? ''} "…"`;
  return new WorkerTimeoutError(place, `timed out; ${describeWork(place, result, missing)}`, {
    handoff: result.handoff,
    remedy: missing === null ? goOn : `${goOn}. ${missing.remedy}`,
  });
}

function describeWork({ branch }: WorkerPlace, result: DispatchResult, missing: Missing | null): string {
  const { handoff, branch: made } = result;
  const isMade = handoff?.verdict.branchExists ?? made?.status === 'created';
  if (!isMade)
    return handoff?.verdict.isEmpty === true ? 'nothing was changed' : (missing?.why ?? 'there is no branch');
  const work = `the work so far is on ${branch}`;
  return missing === null ? work : `${work}, which is here and not on its remote: ${missing.why}`;
}

function findHandoffProblem(place: WorkerPlace, handoff: Handoff | undefined): WorkerError | null {
  const { problem } = handoff ?? {};
  if (problem === undefined) return null;
  const Problem = problem.kind === 'unparseable' ? HandoffUnparseableError : HandoffShapeError;
  return new Problem(place, problem.detail, { handoff });
}

function findBranchProblem(
  place: WorkerPlace,
  result: DispatchResult,
  isPushed: boolean,
): WorkerError | null {
  const missing = findMissing(place, result, isPushed);
  if (missing === null) return null;
  const { why, remedy } = missing;
  return new PushFailedError(place, why, { handoff: result.handoff, remedy });
}

interface Missing {
  readonly why: string;
  readonly remedy: string;
}

/** Why the branch is not where it was to be, and what helps; null if it is there, or nothing was changed. */
function findMissing(place: WorkerPlace, result: DispatchResult, isPushed: boolean): Missing | null {
  const { push, handoff, branch } = result;
  if (handoff === undefined || handoff.verdict.isEmpty) return null;
  const run = place.runId ?? '';
  if (!handoff.verdict.branchExists) return describeUnmade(place, branch, run);
  if (!isPushed || handoff.verdict.pushed) return null;
  const stopped = push?.status === 'pending' ? 'its push was stopped' : `${place.branch} was not pushed`;
  return {
    why: push?.detail ?? stopped,
    remedy: `The branch is kept here: caisson branches lists it, and caisson branches ${run} --push tries again.`,
  };
}

/** There is nothing here to push: only a person can make it. */
function describeUnmade(
  { branch: name }: WorkerPlace,
  branch: DispatchResult['branch'],
  run: string,
): Missing {
  const isRisky = branch?.status === 'held' && branch.detail === undefined;
  const why = isRisky ? 'risky files wait for a yes' : (branch?.detail ?? 'there is none');
  const place = isRisky ? `a warning of the run (caisson logs ${run})` : 'the message';
  return {
    why: `${name} was not made: ${why}`,
    remedy: `Look at the work (caisson diff ${run}); ${place} has the command that makes the branch.`,
  };
}
