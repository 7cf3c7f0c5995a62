/** The result of an earlier run that is to be in a new workspace: whether it can be, and why not. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';

import { rememberStart } from '@caisson/ground';

import { takeBaseFromRef, type Baseline } from './baseline.ts';
import { takeOwnStore } from './beside-gc.ts';
import type { FinishedWork, MergeProblem, PrepareOptions, Workspaces } from './contract.ts';
import { WorkspaceError } from './errors.ts';
import { findRepository, type Repository, type UserFolders } from './locate-repository.ts';
import { mergeWork } from './merge-work.ts';
import { nameSome } from './name-some.ts';
import { applyFolderPrefix, withApplyLock } from './recover-applies.ts';
import { stagePresent } from './stage-present.ts';

const MAX_NAMED = 20;

/** The baseline with the result in its files. */
export async function beginWithMerged(
  baseline: Baseline,
  work: FinishedWork,
  options: PrepareOptions,
): Promise<Baseline> {
  const merged = await mergeWork(baseline.gitDir, baseline.tree, work, options);
  if (merged.kind !== 'merged') {
    const { detail, remedy } = describeMergeProblem(merged, work.runId);
    throw new WorkspaceError(detail, { remedy });
  }
  const { tree, brought, changedSince } = merged;
  await rememberStart(baseline.gitDir, tree);
  const conversions = baseline.conversions?.filter(({ path }) => !brought.has(path)) ?? [];
  return { ...baseline, startTree: tree, changedSince, conversions };
}

type FindOptions = Parameters<Workspaces['findMergeProblem']>[0];

export async function findMergeProblem(given: FindOptions, user: UserFolders): Promise<MergeProblem | null> {
  const repository = await findRepository(given.projectRoot, user);
  if (repository === null) return { kind: 'elsewhere' };
  // No apply changes files meanwhile, and what a dead process left is removed with the applies that were interrupted.
  return await withApplyLock(given.stateDir, async () => {
    const folder = await mkdtemp(applyFolderPrefix(given.stateDir));
    try {
      return await tryMerge(given, folder, repository, user);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** In our own store: the user's has nothing of it afterwards. */
async function tryMerge(
  given: FindOptions,
  folder: string,
  repository: Repository,
  user: UserFolders,
): Promise<MergeProblem | null> {
  const [projectRoot, stateDir] = await Promise.all([realpath(given.projectRoot), realpath(given.stateDir)]);
  const options = { ...given, projectRoot, stateDir };
  const { gitDir, tree } = await findPresent(options, folder, repository, user);
  const merged = await mergeWork(gitDir, tree, given.merge, options);
  if (merged.kind !== 'merged') return merged;
  return given.kind === 'in-place' && merged.tree !== tree ? { kind: 'elsewhere' } : null;
}

async function findPresent(
  options: FindOptions,
  folder: string,
  repository: Repository,
  user: UserFolders,
): Promise<{ gitDir: string; tree: string }> {
  if (options.baseRef !== undefined) {
    const baseline = await takeBaseFromRef(options, options.baseRef, folder, repository, user);
    await takeOwnStore(baseline.gitDir);
    return baseline;
  }
  const { gitDir, staged } = await stagePresent(options, folder, repository, user, true);
  return { gitDir, tree: staged.tree };
}

/** In words: what is wrong, and what to do. */
export function describeMergeProblem(
  problem: MergeProblem,
  runId: string,
): { readonly detail: string; readonly remedy: string } {
  switch (problem.kind) {
    case 'conflicts':
      return {
        detail: `what ${runId} did and what you changed since conflict in: ${nameSome(problem.files, MAX_NAMED)}`,
        remedy: `Take its work into your files first (caisson apply ${runId} --leave-conflicts --force, then resolve the markers), or undo your changes to these files.`,
      };
    case 'gone':
      return {
        detail: `the work of ${runId} is gone: its checkpoint, or the files it began with, were deleted`,
        remedy: 'Begin anew: caisson run "…"',
      };
    case 'elsewhere':
      return {
        detail: `the work of ${runId} is not in these files, and a run in place begins with them`,
        remedy: `Take it into your files first: caisson apply ${runId}`,
      };
  }
}
