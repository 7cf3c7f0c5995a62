/**
 * A session that is resumed remembers its edits, so its workspace has them too: it begins with the patch of the run that
 * is continued, on the same baseline. The new patch then holds everything, and only the last run of a chain is applied.
 */
import { PreparedWorkspace, type EarlierWork } from '../workspace/index.ts';
import type { AdmittedRun } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import type { AgentSession } from './session-folder.ts';

/** What the resumed session had done; null where it left nothing, or works in place and has it before its eyes. */
export async function findContinuedWork(
  rooms: Pick<DispatchRooms, 'ledger' | 'store'>,
  run: Pick<AdmittedRun, 'request' | 'workspaceKind'>,
  session: AgentSession,
): Promise<EarlierWork | null> {
  const runId = run.request.continues;
  if (runId === undefined || session.resume === undefined || run.workspaceKind === 'in-place') return null;
  const launched = rooms.ledger.read({ runId, types: ['attempt.launched'] }).at(-1);
  const workspace = PreparedWorkspace.safeParse(launched?.data['workspace']).data;
  if (workspace === undefined || workspace.kind !== run.workspaceKind) return null;
  const patchRef = patchRefOf(rooms, runId);
  if (patchRef === undefined) return null;
  const { baselineTree, baseCommit, baselineCommit } = workspace;
  return { runId, baselineTree, baseCommit, baselineCommit, patch: await rooms.store.getBlob(patchRef) };
}

function patchRefOf(rooms: Pick<DispatchRooms, 'ledger'>, runId: string): string | undefined {
  const type = rooms.ledger.run(runId)?.ending;
  const ending = type === undefined ? undefined : rooms.ledger.read({ runId, types: [type] }).at(-1);
  const patchRef = ending?.data['patchRef'];
  return typeof patchRef === 'string' ? patchRef : undefined;
}

/** Said to a session that is resumed without its work: it would build on files that are not there. */
export const LOST_WORK_NOTE =
  'Note: the working folder was made anew. The changes that you made earlier in this conversation are not in it.';
