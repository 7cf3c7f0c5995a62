/**
 * The requested branch of a task. Admission refuses it when it is taken; it is written once, at the ending of the run,
 * by compare-and-swap. A run that continues another one moves the branch that the earlier run left, and no other.
 */
import type { RunBranch } from '@caisson/protocol';
import type { StoredEvent } from '../ledger/index.ts';
import { adviseBranch, PreparedWorkspace, type PlannedBranch } from '../workspace/index.ts';
import { findChangesOutsideScope } from './outside-scope.ts';
import type { MayPass } from './passing-failure.ts';
import {
  type DispatchRooms,
  type RecordedWork,
  describeTaken,
  findEarlierBranch,
} from '../admission/index.ts';

/**
 * Writes the branch of a run that ends now, and returns what the terminal event says of it. Rejects only with what `mayPass`.
 * A branch that was taken meanwhile is left alone, and one that would bring files outside the task's scope waits for a
 * person: the run is done all the same, and its work is in the checkpoint.
 */
export async function settleBranch(
  rooms: Pick<DispatchRooms, 'ledger' | 'workspaces' | 'store'>,
  runId: string,
  work: SavedWork,
  mayPass: MayPass,
): Promise<{ branch?: RunBranch }> {
  const { checkpoint } = work;
  const planned = checkpoint?.branch;
  if (checkpoint == null || planned === undefined) return {};
  const { name, commit } = planned;
  if (planned.isHeld) return { branch: { name, commit, status: 'held' } };
  const events = await rooms.ledger.readRun(runId);
  const launched = events.findLast((event) => event.type === 'attempt.launched');
  const workspace = PreparedWorkspace.safeParse(launched?.data.workspace).data;
  const advice = workspace === undefined ? '' : `: ${adviseBranch(workspace, 'OTHER-NAME', commit)}`;
  const whereWork = `the work is in ${checkpoint.ref}${advice}`;
  try {
    if (workspace === undefined) throw new Error('the record of its workspace cannot be read');
    const outside = await findChangesOutsideScope(rooms, events, work, { forBranch: true });
    if (outside.length > 0 && !isOnlyReported(events)) {
      const detail = describeOutside(outside.length, adviseBranch(workspace, name, commit));
      return { branch: { name, commit, status: 'held', detail } };
    }
    const attempt = Number(checkpoint.ref.slice(checkpoint.ref.lastIndexOf('/') + 1));
    return await writeBranch(rooms, { runId, attempt, planned, workspace, whereWork });
  } catch (error) {
    if (mayPass(error)) throw error;
    const detail = `${(error as Error).message.slice(0, 1000)}; ${whereWork}`;
    return { branch: { name, commit, status: 'failed', detail } };
  }
}

interface BranchToWrite {
  readonly runId: string;
  readonly attempt: number;
  readonly planned: PlannedBranch;
  readonly workspace: PreparedWorkspace;
  readonly whereWork: string;
}

async function writeBranch(
  { ledger, workspaces }: Pick<DispatchRooms, 'ledger' | 'workspaces'>,
  { runId, attempt, planned, workspace, whereWork }: BranchToWrite,
): Promise<{ branch?: RunBranch }> {
  const { name, commit } = planned;
  const from = findEarlierBranch({ ledger }, ledger.run(runId)?.continues, name);
  const { custodyDir } = workspace;
  const outcome = await workspaces.writeBranch({ custodyDir, branch: planned, runId, attempt, from });
  if (outcome.kind === 'empty') return {};
  if (outcome.kind === 'created') return { branch: { name, commit: outcome.commit, status: 'created' } };
  const detail = `${describeTaken(outcome.by)}; ${whereWork}`;
  return { branch: { name, commit, status: 'taken', detail } };
}

function isOnlyReported(events: readonly StoredEvent[]): boolean {
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  return accepted?.data.task.outsideScope === 'report';
}

interface SavedWork extends Omit<RecordedWork, 'checkpoint'> {
  readonly checkpoint?:
    | { readonly ref: string; readonly branch?: PlannedBranch | undefined }
    | null
    | undefined;
}

/** Without their names, which may have a secret in them; the ending and `show` list them. */
function describeOutside(count: number, advice: string): string {
  const files = count === 1 ? '1 changed file is' : `${count} changed files are`;
  return `${files} outside the scope of the task; create it all the same: ${advice}`;
}
