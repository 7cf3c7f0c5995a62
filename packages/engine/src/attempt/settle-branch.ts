/**
 * The requested branch of a task. Admission refuses it when it is taken; it is written once, at the ending of the run,
 * by compare-and-swap. A run that continues another one moves the branch that the earlier run left, and no other.
 */
import type { RunBranch } from '@caisson/protocol';
import { PreparedWorkspace, type PlannedBranch } from '../workspace/index.ts';
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
  const { ledger, workspaces } = rooms;
  const { checkpoint } = work;
  const planned = checkpoint?.branch;
  if (checkpoint == null || planned === undefined) return {};
  const { name, commit } = planned;
  if (planned.isHeld) return { branch: { name, commit, status: 'held' } };
  const whereWork = `the work is in ${checkpoint.ref}: git branch OTHER-NAME ${commit}`;
  try {
    const events = ledger.read({ runId });
    const outside = await findChangesOutsideScope(rooms, events, work, { forBranch: true });
    if (outside.length > 0)
      return { branch: { name, commit, status: 'held', detail: describeOutside(outside.length, planned) } };
    const launched = events.findLast((event) => event.type === 'attempt.launched');
    const { custodyDir } = PreparedWorkspace.parse(launched?.data.workspace);
    const attempt = Number(checkpoint.ref.slice(checkpoint.ref.lastIndexOf('/') + 1));
    const from = findEarlierBranch({ ledger }, ledger.run(runId)?.continues, name);
    const plan = { custodyDir, branch: planned, runId, attempt, from };
    const outcome = await workspaces.writeBranch(plan);
    if (outcome.kind === 'created') return { branch: { name, commit: outcome.commit, status: 'created' } };
    return {
      branch: { name, commit, status: 'taken', detail: `${describeTaken(outcome.by)}; ${whereWork}` },
    };
  } catch (error) {
    if (mayPass(error)) throw error;
    const detail = `${(error as Error).message.slice(0, 1000)}; ${whereWork}`;
    return { branch: { name, commit, status: 'failed', detail } };
  }
}

interface SavedWork extends Omit<RecordedWork, 'checkpoint'> {
  readonly checkpoint?:
    | { readonly ref: string; readonly branch?: PlannedBranch | undefined }
    | null
    | undefined;
}

/** Without their names, which may have a secret in them; the ending and `show` list them. */
function describeOutside(count: number, { name, commit }: PlannedBranch): string {
  const files = count === 1 ? '1 changed file is' : `${count} changed files are`;
  return `${files} outside the scope of the task; create it all the same: git branch ${name} ${commit}`;
}
