import type { ListedRun } from '@caisson/engine';

/** Who waits in the queue for how many others, and with which priority. Out of the queue, its files are prepared. */
export function formatStatus(run: ListedRun): string {
  const {
    status,
    position,
    priority,
    appliedAt,
    appliedWithConflicts,
    forgottenAt,
    checkPassed,
    waitsFor,
    live,
  } = run;
  if (status === 'queued')
    return position === undefined ? 'preparing' : `${status}, number ${position}, priority ${priority}`;
  return [
    status === 'error' ? 'failed' : status,
    ...(waitsFor?.kind === 'approval' ? ['waits for you'] : []),
    ...(live?.isAlone ? ['waits for a daemon'] : []),
    ...(checkPassed === false ? ['check failed'] : []),
    ...(appliedAt === undefined
      ? []
      : [appliedWithConflicts === true ? 'applied with conflicts' : 'applied']),
    ...(forgottenAt === undefined ? [] : ['forgotten']),
  ].join(', ');
}
