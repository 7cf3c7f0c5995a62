import { definedOnly, isEnding, isPushedByItself, knownTypeOf } from '@caisson/protocol';
import type { WaitingBranch } from './contract.ts';
import type { RunState } from './ledger-view.ts';
import type { ProjectedEvent } from './project.ts';

/** The row with where its branch stands after `event`, which the rest of the row has already. */
export function projectBranch(row: RunState, event: ProjectedEvent): RunState {
  const waitingBranch = findWaiting(row, event);
  return waitingBranch === row.waitingBranch ? row : definedOnly<RunState>({ ...row, waitingBranch });
}

function findWaiting(row: RunState, event: ProjectedEvent): WaitingBranch | undefined {
  const { waitingBranch, pushes, status } = row;
  const late = status === 'timeout' ? 'late' : undefined;
  if (isEnding(event)) {
    const { branch } = event.data;
    if (branch === undefined) return undefined;
    const isMissed = late !== undefined || (pushes === true && isPushedByItself(event.type));
    if (branch.status !== 'created') return isMissed ? 'held' : undefined;
    if (pushes === undefined) return late;
    return pushes && isPushedByItself(event.type) ? 'pending' : 'kept';
  }
  switch (knownTypeOf(event)) {
    case 'branch.push-failed': // after another host has pushed it, it says nothing new
      return waitingBranch === undefined || waitingBranch === 'late' ? waitingBranch : 'failed';
    case 'branch.pushed':
      return late;
    case 'branch.dropped':
    case 'run.forgotten':
      return undefined;
    case 'timeout.drained':
      return waitingBranch === 'late' || pushes === undefined ? undefined : waitingBranch;
    default:
      return waitingBranch;
  }
}
