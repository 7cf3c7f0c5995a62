/** Why an ended run is kept: it has work that the user has nowhere else. In any doubt it has. */
import { findPush, isEnding, type DataOf } from '@caisson/protocol';
import { findWorkAttempt } from '../admission/index.ts';
import { listPatched } from '../attempt/index.ts';
import { describeRun } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import type { RunRow, StoredEvent } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';

type Ended = Pick<DataOf<'dispatch.finished'>, 'patchRef' | 'checkpoint' | 'branch'>;

/**
 * `question`: it waits for an answer. `beside`: it has more than its patch (commits, files held back). `unreadable`: what
 * it has cannot be read. `unapplied`: nobody took its work. `unpatched`: it has files that the applied patch lacks.
 * `replaced`: in place, it replaced files that were not committed. `outputs`: it left outputs; whether they were copied
 * is not recorded.
 */
export type OnlyCopy =
  | 'question'
  | 'beside'
  | 'unreadable'
  | 'unapplied'
  | 'unpatched'
  | 'replaced'
  | 'outputs';

/** Outputs come last: who has taken them may delete the run. */
export async function findOnlyCopy(engine: Engine, { runId, status }: RunRow): Promise<OnlyCopy | null> {
  if (status === 'waiting') return 'question';
  const events = engine.ledger.read({ runId });
  const ending = events.findLast((event) => isEnding(event));
  if (ending === undefined) return 'unreadable';
  if (hasWorkBeside(events, ending.data)) return 'beside';
  const run = await describeRun(engine.rooms, runId).catch(() => null);
  if (run === null) return 'unreadable'; // it may name outputs
  const work = await findWork(engine, events, ending, run.leftWork === true);
  return work ?? ((run.result?.outputs ?? []).length > 0 ? 'outputs' : null);
}

async function findWork(
  engine: Engine,
  events: readonly StoredEvent[],
  ending: StoredEvent & { readonly data: Ended },
  hasLeftWork: boolean,
): Promise<OnlyCopy | null> {
  const { patchRef, checkpoint, branch } = ending.data;
  if (patchRef === undefined && checkpoint === undefined && !hasLeftWork) return null;
  if (findPush(events)?.status === 'pushed') return null;
  if (branch?.status === 'created' && (await isOnBranch(engine, branch.commit))) return null;
  const ended = events.filter((event) => event.type === 'attempt.ended');
  const attempt = findWorkAttempt(ended, ending);
  const launches = events.filter((event) => event.type === 'attempt.launched');
  const launched = launches.findLast((event) => event.attempt === attempt) ?? launches.at(-1);
  const workspace = PreparedWorkspace.safeParse(launched?.data.workspace).data;
  if (workspace === undefined) return 'unreadable';
  if (workspace.kind === 'in-place') return isCommitted(workspace) ? null : 'replaced';
  const isTaken =
    (patchRef === undefined && !hasLeftWork) ||
    events.some((event) => event.type === 'run.applied' && !event.data.hasConflicts && !event.data.isPartial);
  if (!isTaken) return 'unapplied';
  return (await isAllInPatch(engine, workspace, patchRef)) ? null : 'unpatched';
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
