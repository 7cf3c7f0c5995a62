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
  if (status === 'timeout')
    return new WorkerTimeoutError(place, `timed out; ${describeWork(place, result)}`, {
      handoff,
      remedy: `Continue it: caisson retry ${place.runId ?? ''}`,
    });
  if (failure?.reason === 'crashed' || failure?.reason === 'lost' || failure?.reason === 'output-invalid')
    return new NoOutputError(place, `no output: ${why}`, { handoff });
  if (status !== 'done') return new WorkerFailedError(place, why, { handoff });
  return findHandoffProblem(place, handoff) ?? (isPushed ? findPushProblem(place, result) : null);
}

function describeWork({ branch }: WorkerPlace, { handoff, branch: made }: DispatchResult): string {
  if (made?.status === 'created') return `the work so far is on ${branch}`;
  return handoff?.verdict.isEmpty === true ? 'nothing was changed' : (made?.detail ?? 'there is no branch');
}

function findHandoffProblem(place: WorkerPlace, handoff: Handoff | undefined): WorkerError | null {
  const { problem } = handoff ?? {};
  if (problem === undefined) return null;
  const Problem = problem.kind === 'unparseable' ? HandoffUnparseableError : HandoffShapeError;
  return new Problem(place, problem.detail, { handoff });
}

function findPushProblem(place: WorkerPlace, { push, handoff, branch }: DispatchResult): WorkerError | null {
  if (handoff === undefined || handoff.verdict.pushed || handoff.verdict.isEmpty) return null;
  const why = push?.detail ?? branch?.detail ?? `${place.branch} was not pushed`;
  return new PushFailedError(place, why, {
    handoff,
    remedy: 'The branch is kept here: caisson branches lists it, and --push tries again.',
  });
}
