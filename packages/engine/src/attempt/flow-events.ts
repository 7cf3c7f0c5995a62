/**
 * The end of a task with a branch, as events: its processes are gone, its work is saved, its workspace is removed. Other runs
 * record only what goes wrong of that.
 */
import { definedOnly, type EventContent, type RunBranch } from '@caisson/protocol';
import { expectsHandoff } from '../admission/index.ts';
import type { RunRecord, StoredEvent } from '../ledger/index.ts';
import type { Checkpoint } from '../workspace/index.ts';

interface Place {
  readonly runId: string;
  readonly attempt: number;
  /** Its steps are recorded. */
  readonly isForBranch: boolean;
}

/** With the next event, which is mostly the ending: it costs no commit of its own. */
export function recordProcessesEnded(
  record: Pick<RunRecord, 'keep' | 'keepWithNext'>,
  { runId, attempt, isForBranch }: Place,
  survivors: readonly number[],
): void {
  warnOfSurvivors(record, attempt, survivors);
  if (!isForBranch) return;
  const place = { attempt, id: `processes-ended:${runId}.${attempt}` };
  record.keepWithNext('processes.ended', { left: survivors.length }, place);
}

/** For the moment of the ending. */
export function describeSaved(
  { isForBranch }: Pick<Place, 'isForBranch'>,
  checkpoint: Checkpoint | null | undefined,
): EventContent<'work.saved'>[] {
  if (checkpoint == null || !isForBranch) return [];
  const { ref, branch } = checkpoint;
  return [
    {
      type: 'work.saved',
      data: { ref, ...definedOnly({ commit: branch?.isEmpty === true ? undefined : branch?.commit }) },
    },
  ];
}

/** After the seal, like the push: what it covers has happened before. */
export function recordRemoved(record: RunRecord, { runId, attempt, isForBranch }: Place): void {
  if (!isForBranch) return;
  record.keep('workspace.removed', {}, { attempt, id: `workspace-removed:${runId}.${attempt}` });
}

/**
 * Of a run that ends with the branch of an earlier attempt, whose workspace is gone: what was prepared since then is gone, too,
 * and nobody waits for more.
 */
export function recordNothingLeft(
  record: RunRecord,
  { runId, attempt }: Pick<Place, 'runId' | 'attempt'>,
  branch: RunBranch | undefined,
): void {
  if (branch?.status !== 'created') return;
  record.keep('workspace.removed', {}, { attempt, id: `workspace-removed:${runId}.end` });
}

/** Of a run that is read again; its own host knows it from the request. */
export function isForBranch(events: readonly StoredEvent[]): boolean {
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  return accepted !== undefined && expectsHandoff(accepted.data.task);
}

/** A run must not be reported as over when some of its processes are not. */
function warnOfSurvivors(record: Pick<RunRecord, 'keep'>, attempt: number, pids: readonly number[]): void {
  if (pids.length === 0) return;
  const message = `processes of this run could not be ended and may still exist: pid ${pids.join(', ')}`;
  record.keep('warning', { source: 'compute', message }, { attempt });
}
