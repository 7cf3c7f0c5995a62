/** Whether an ended run has work that the user has nowhere else. In any doubt it has. */
import { isEnding, type DataOf } from '@caisson/protocol';
import { findWorkAttempt } from '../admission/index.ts';
import { listPatched } from '../attempt/index.ts';
import { describeRun } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import type { RunRow, StoredEvent } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';

type Ended = Pick<DataOf<'dispatch.finished'>, 'patchRef' | 'checkpoint' | 'branch'>;

export async function isOnlyCopy(engine: Engine, { runId, status }: RunRow): Promise<boolean> {
  if (status === 'waiting') return true; // its question is open
  const events = engine.ledger.read({ runId });
  const ending = events.findLast((event) => isEnding(event));
  if (ending === undefined || hasWorkBeside(events, ending.data)) return true;
  const run = await describeRun(engine.rooms, runId).catch(() => null);
  // A result that cannot be read may name outputs.
  if (run === null || (run.result?.outputs ?? []).length > 0) return true;
  const { patchRef, checkpoint, branch } = ending.data;
  if (patchRef === undefined && checkpoint === undefined && run.leftWork !== true) return false;
  if (branch?.status === 'created' && (await isOnBranch(engine, branch.commit))) return false;
  const ended = events.filter((event) => event.type === 'attempt.ended');
  const attempt = findWorkAttempt(ended, ending);
  const launches = events.filter((event) => event.type === 'attempt.launched');
  const launched = launches.findLast((event) => event.attempt === attempt) ?? launches.at(-1);
  const workspace = PreparedWorkspace.safeParse(launched?.data.workspace).data;
  if (workspace === undefined) return true;
  if (workspace.kind === 'in-place') return !isCommitted(workspace);
  const isTaken =
    (patchRef === undefined && run.leftWork !== true) ||
    events.some((event) => event.type === 'run.applied' && !event.data.hasConflicts);
  return !isTaken || !(await isAllInPatch(engine, workspace, patchRef));
}

/** What was held back, and what an earlier attempt had that the last one has not. */
function hasWorkBeside(events: readonly StoredEvent[], { checkpoint: last }: Ended): boolean {
  const saved = events.flatMap((event) =>
    event.type === 'attempt.ended' ? (event.data.checkpoint ?? []) : [],
  );
  return [...saved, ...(last === undefined ? [] : [last])].some(
    ({ heldBack, beside, tree }) => heldBack !== undefined || beside !== undefined || tree !== last?.tree,
  );
}

/** A retry may have moved the branch since, and the user may have deleted it. */
async function isOnBranch({ workspaces, config }: Engine, commit: string): Promise<boolean> {
  return await workspaces.hasCommit({ projectRoot: config.projectRoot, commit });
}

/** In place the work is in the user's files; what it replaced there must be in their history. */
function isCommitted({ baseCommit, baselineCommit }: PreparedWorkspace): boolean {
  return baselineCommit !== null && baselineCommit === baseCommit;
}

/** A checkpoint also has what a rule left out of the patch, and what a check wrote after it. */
async function isAllInPatch(
  { workspaces, store }: Engine,
  workspace: PreparedWorkspace,
  patchRef: string | undefined,
): Promise<boolean> {
  try {
    const patched = new Set(patchRef === undefined ? [] : listPatched(await store.getBlob(patchRef)));
    return (await workspaces.listSavedChanges(workspace)).every((path) => patched.has(path));
  } catch {
    return false; // what cannot be compared is not known to be elsewhere
  }
}
