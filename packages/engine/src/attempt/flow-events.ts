/**
 * The end of a task with a branch, as events: its processes are gone, its work is saved, its workspace is removed. Other runs
 * record only what goes wrong of that.
 */
import { definedOnly, type EventContent } from '@caisson/protocol';
import { expectsHandoff, type DispatchRooms } from '../admission/index.ts';
import type { RunRecord } from '../ledger/index.ts';
import type { Checkpoint } from '../workspace/index.ts';

type Rooms = Pick<DispatchRooms, 'ledger'>;

interface Place {
  readonly runId: string;
  readonly attempt: number;
}

/** With the next event, which is mostly the ending: it costs no commit of its own. */
export function recordProcessesEnded(
  rooms: Rooms,
  record: Pick<RunRecord, 'keep' | 'keepWithNext'>,
  { runId, attempt }: Place,
  survivors: readonly number[],
): void {
  warnOfSurvivors(record, attempt, survivors);
  if (!isForBranch(rooms, runId)) return;
  const place = { attempt, id: `processes-ended:${runId}.${attempt}` };
  record.keepWithNext('processes.ended', { left: survivors.length }, place);
}

/** For the moment of the ending. */
export function describeSaved(
  rooms: Rooms,
  { runId }: Place,
  checkpoint: Checkpoint | null | undefined,
): EventContent<'work.saved'>[] {
  if (checkpoint == null || !isForBranch(rooms, runId)) return [];
  const { ref, branch } = checkpoint;
  return [
    {
      type: 'work.saved',
      data: { ref, ...definedOnly({ commit: branch?.isEmpty === true ? undefined : branch?.commit }) },
    },
  ];
}

/** After the seal, like the push: what it covers has happened before. */
export function recordRemoved(rooms: Rooms, record: RunRecord, { runId, attempt }: Place): void {
  if (!isForBranch(rooms, runId)) return;
  record.keep('workspace.removed', {}, { attempt, id: `workspace-removed:${runId}.${attempt}` });
}

function isForBranch({ ledger }: Rooms, runId: string): boolean {
  const task = ledger.read({ runId, types: ['dispatch.accepted'] })[0]?.data.task;
  return task !== undefined && expectsHandoff(task);
}

/** A run must not be reported as over when some of its processes are not. */
function warnOfSurvivors(record: Pick<RunRecord, 'keep'>, attempt: number, pids: readonly number[]): void {
  if (pids.length === 0) return;
  const message = `processes of this run could not be ended and may still exist: pid ${pids.join(', ')}`;
  record.keep('warning', { source: 'compute', message }, { attempt });
}
