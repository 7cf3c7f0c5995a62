/** What to do after a run that did not do its task. */
import type { DispatchResult } from '@caisson/protocol';

/** What is known of a run that was stopped by no order of its own. */
export const INTERRUPTED = 'it was stopped because the process that carried it out was ended';

/** Starts it again or, where an agent had begun, goes on from its work. */
export function describeAgain(run: DispatchResult): string[] {
  const { runId, status, runtime, failure } = run;
  if (!isBroken(status)) return [];
  const isResumed = runtime !== 'command' && hasBegunAndStopped(run);
  return [
    ...(isResumed ? [`go on: caisson continue ${runId} "…"`] : []),
    `again: caisson retry ${runId}${needsOtherBranch(failure) ? ' --branch OTHER' : ''}`,
  ];
}

/** What a host left `lost` may have no result, and work all the same. */
function hasBegunAndStopped({ status, result, failure, leftWork }: DispatchResult): boolean {
  if (status === 'interrupted') return result !== null;
  return failure?.reason === 'lost' && (result !== null || leftWork === true);
}

/** The remote has the branch that the run was to push: the same run would fail again (remote-cache.ts names the remedy). */
function needsOtherBranch(failure: DispatchResult['failure']): boolean {
  return failure?.detail.includes('Name another one: --branch OTHER') === true;
}

/** Ended without doing its task, and without an open question. */
function isBroken(status: DispatchResult['status']): boolean {
  return !['done', 'waiting', 'answered', 'queued', 'running'].includes(status);
}
