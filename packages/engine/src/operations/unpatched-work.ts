/** Work of a run that is in no patch, or in one that cannot be read: why, where it is, and how to get it. */
import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { isEnding, type DispatchResult } from '@caisson/protocol';
import { findWorkAttempt, mayLackPatch } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { inspectBlob, isRescuable, type BlobProblem } from '../store/index.ts';
import { PreparedWorkspace, readSavedTree, type Checkpoint } from '../workspace/index.ts';

/** `problem`: there is a patch, and this is wrong with it. */
export interface UnpatchedWork extends NonNullable<DispatchResult['unpatched']> {
  readonly problem?: BlobProblem['kind'];
}

type Saved = Pick<Checkpoint, 'ref' | 'tree'>;

/** Null if the patch of the ended run has everything, or there is nothing. */
export async function findUnpatched(engine: Engine, runId: string): Promise<UnpatchedWork | null> {
  if (engine.ledger.run(runId)?.ending === undefined) return null;
  const events = await engine.ledger.readRun(runId);
  const ending = events.findLast((event) => isEnding(event));
  if (ending === undefined) return null;
  const ended = events.filter((event) => event.type === 'attempt.ended');
  const attempt = findWorkAttempt(ended, ending);
  const launches = events.filter((event) => event.type === 'attempt.launched');
  const launched = launches.findLast((event) => event.attempt === attempt) ?? launches.at(-1);
  const workspace = PreparedWorkspace.safeParse(launched?.data.workspace).data;
  if (workspace === undefined) return null;
  const { patchRef } = ending.data;
  const damage = patchRef === undefined ? null : await inspectBlob(engine.store, patchRef);
  if (damage === null && !mayLackPatch(ending.data)) return null;
  // An agent starts only after its start is recorded; before that there is no work.
  const starts = events.filter((event) => event.type === 'dispatch.started');
  if (!starts.some((event) => event.attempt === launched?.attempt)) return null;
  const { patchMissing, checkpoint } = ending.data;
  const lost = damage === null ? patchMissing : `the patch cannot be read: ${damage.detail}`;
  const why = lost ?? 'the run ended without recording a patch';
  const problem = damage === null ? {} : { problem: damage.kind };
  const found = (work: UnpatchedWork): UnpatchedWork => ({
    ...work,
    ...problem,
    remedy: damage === null ? work.remedy : describeRescue(engine, damage, work.remedy),
  });
  const saved = checkpoint ?? (await engine.workspaces.findCheckpoint(workspace));
  if (saved !== null)
    return saved.tree === workspace.baselineTree ? null : found(inCheckpoint(workspace, saved, why));
  const folder = findFolder(engine.config.stateDir, workspace);
  return lost === undefined && folder === null ? null : found(inFolder(runId, folder, why));
}

/** Once it is readable, the patch is applied with the checks that it else goes without. */
function describeRescue({ config }: Engine, { digest }: BlobProblem, otherwise: string): string {
  if (!isRescuable(join(config.stateDir, 'store'), digest)) return otherwise;
  return `Try first: caisson doctor --repair, which makes the patch readable again. ${otherwise}`;
}

function inCheckpoint(workspace: PreparedWorkspace, { ref }: Saved, why: string): UnpatchedWork {
  const { isUserRepository, baselineTree, custodyDir } = workspace;
  const command = isUserRepository
    ? `git diff --binary ${baselineTree} ${ref} | git apply`
    : `git --git-dir=${custodyDir} archive ${ref} | tar -x -C FOLDER`;
  return {
    why,
    where: `checkpoint ${ref}`,
    remedy: `Get it, without the checks of caisson apply, with: ${command}`,
  };
}

function inFolder(runId: string, folder: string | null, why: string): UnpatchedWork {
  if (folder === null)
    return { why, where: 'no checkpoint and no folder', remedy: `Do it again: caisson retry ${runId}` };
  return { why, where: `folder ${folder}`, remedy: 'Copy what you need from there.' };
}

/**
 * The present place of the attempt's files: a project may have been moved. Null once they were removed, or if they are
 * the baseline's.
 */
function findFolder(
  stateDir: string,
  { kind, attemptDir, path, baselineTree }: PreparedWorkspace,
): string | null {
  const own = ['worktrees', 'trash']
    .map((place) => join(stateDir, place, basename(attemptDir)))
    .find((folder) => existsSync(folder));
  if (own === undefined || readSavedTree(own) === baselineTree) return null;
  return kind === 'in-place' ? path : join(own, relative(attemptDir, path));
}
