/**
 * What an attempt continues: the conversation of the attempt before it or, for a first one, of the run that it
 * continues. A resumed conversation remembers its edits, so its workspace has them too: it begins with the patch of
 * that attempt, on the same baseline. The new patch then contains everything, and only the last run of a chain is
 * applied. Without a conversation an attempt begins with the present files: half a task done twice is not the task.
 */
import type { SessionResume } from '@caisson/protocol';
import { PreparedWorkspace, type EarlierWork } from '../workspace/index.ts';
import type { AdmittedRun, DispatchRooms } from '../admission/index.ts';

/** A session, whose it is, and what was done in it. */
export interface EarlierSession {
  readonly runId: string;
  readonly resume: SessionResume;
  readonly patchRef: string | undefined;
}

export function findEarlierSession(
  rooms: Pick<DispatchRooms, 'ledger'>,
  { runId, request }: Pick<AdmittedRun, 'runId' | 'request'>,
  attempt: number,
): EarlierSession | null {
  const before = attempt === 1 ? undefined : rooms.ledger.read({ runId, types: ['attempt.ended'] }).at(-1);
  const { resume, patchRef } = before?.data ?? {};
  if (resume !== undefined) return { runId, resume, patchRef };
  const { continues } = request;
  if (continues === undefined || request.resume === undefined) return null;
  return { runId: continues, resume: request.resume, patchRef: patchRefOf(rooms, continues) };
}

/** The work of the resumed conversation; null if it left nothing, or works in place and still has it. */
export async function findContinuedWork(
  rooms: Pick<DispatchRooms, 'ledger' | 'store'>,
  run: Pick<AdmittedRun, 'workspaceKind'>,
  session: EarlierSession | null,
): Promise<EarlierWork | null> {
  if (session?.patchRef === undefined || run.workspaceKind === 'in-place') return null;
  const { runId, patchRef } = session;
  const launched = rooms.ledger.read({ runId, types: ['attempt.launched'] }).at(-1);
  const workspace = PreparedWorkspace.safeParse(launched?.data.workspace).data;
  if (workspace === undefined || workspace.kind !== run.workspaceKind) return null;
  const { baselineTree, baseCommit, baselineCommit } = workspace;
  return { runId, baselineTree, baseCommit, baselineCommit, patch: await rooms.store.getBlob(patchRef) };
}

function patchRefOf(rooms: Pick<DispatchRooms, 'ledger'>, runId: string): string | undefined {
  const type = rooms.ledger.run(runId)?.ending;
  const ending = type === undefined ? undefined : rooms.ledger.read({ runId, types: [type] }).at(-1);
  return ending?.data.patchRef;
}

/** The note for a conversation that is resumed without its work: it would rely on missing files. */
export const LOST_WORK_NOTE =
  'Note: the working folder is new. The changes that you made earlier in this conversation are not in it.';

/** Said in another attempt of the same run, which hears its task again; not every program finds its conversation. */
export const NEXT_ATTEMPT_NOTE =
  'Note: the attempt before this one broke off. What it changed is in the working folder: go on from it. The task was:';
