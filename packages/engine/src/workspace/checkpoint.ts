/** Custody: whatever the ending, the attempt's files and the agent's commits are saved before anything is removed. */
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';

import {
  emptyTreeLike,
  isWorkspaceBare,
  stageWorkspace,
  withoutPreparation,
  type OversizedFile,
  type RiskyChange,
} from '@caisson/ground';

import { saveAgentCommits } from './agent-commits.ts';
import { makeBranchCommit } from './branch-commit.ts';
import type { Clean } from './clean-commits.ts';
import type { Checkpoint, PreparedWorkspace } from './contract.ts';
import { checkpointRef, commitTree, createBranchRef, updateRefs } from './custody.ts';
import { WorkspaceError } from './errors.ts';
import {
  describeHeldBack,
  describeHeldBranch,
  findHeldBack,
  sortHeads,
  withoutHeldBack,
  writeBundle,
} from './held-back.ts';
import { findChangedIncluded } from './included-memory.ts';
import { syncObjects } from './sync-objects.ts';

/** Names the tree that is safe; removal compares the files with it. */
export const SAVED_TREE_FILE = 'saved-tree';

const MAX_TOLD = 32;

export async function checkpointWorkspace(
  prepared: PreparedWorkspace,
  { clean = null }: { clean?: Clean | null } = {},
): Promise<Checkpoint | null> {
  const isBaselineEmpty = prepared.baselineTree === emptyTreeLike(prepared.baselineTree);
  if (
    isBaselineEmpty &&
    prepared.agentGit === undefined &&
    (await isWorkspaceBare(prepared.path, prepared.exclude))
  ) {
    return null;
  }
  const staged = await stageForCustody(prepared);
  const agent = await saveAgentCommits(prepared, clean);
  const complete = await commitOf(prepared, staged.tree);
  if (complete !== prepared.baseCommit) await syncObjects(prepared.gitDir, complete, prepared.baseCommit);
  const ref = checkpointRef(prepared.runId, prepared.attempt);
  const risks = await findHeldBack(prepared, staged.tree);
  const tree = await withoutHeldBack(prepared, staged.tree, risks);
  const commit = tree === staged.tree ? complete : await commitOf(prepared, tree);
  const heads = await sortHeads(prepared, agent.refs);
  const branch = await planBranch(prepared, { complete, tree: staged.tree, risks });
  const held = new Map([
    ...(tree === staged.tree ? [] : [[ref, complete] as const]),
    ...heads.held,
    ...(branch?.isHeld === true ? [[`refs/heads/${branch.name}`, branch.commit] as const] : []),
  ]);
  const file = held.size === 0 ? null : await writeBundle(prepared, held); // H3
  const isAlone = held.size + heads.visible.size + agent.warnings.length === 0;
  if (isAlone && (await isNothingToKeep(prepared, complete, staged))) {
    await writeFile(join(prepared.attemptDir, SAVED_TREE_FILE), staged.tree);
    return null;
  }
  await updateRefs(prepared.custodyDir, new Map([[ref, commit], ...heads.visible]));
  await writeFile(join(prepared.attemptDir, SAVED_TREE_FILE), staged.tree);
  if (prepared.branch !== undefined && branch === null) throw noRepository(prepared);
  if (branch?.isHeld === false) await createBranchRef(prepared.custodyDir, branch.name, branch.commit);
  const found = { risks, headPaths: heads.paths, ref: [...held.keys()][0] ?? ref };
  const heldBranch = branch?.isHeld === true ? branch : null;
  return {
    ref,
    commit,
    tree,
    heads: [...heads.visible.keys()],
    ...(file === null ? {} : { heldBack: { file, paths: risks.map(({ path }) => path) } }),
    warnings: [
      ...staged.warnings,
      ...describeAllKept(prepared, staged.oversized),
      ...(await findChangedIncluded(prepared)).map((path) => describeChanged(prepared, path)),
      ...agent.warnings,
      ...(file === null ? [] : describeHeldBack(prepared, file, found)),
      ...(file === null || heldBranch === null
        ? []
        : [describeHeldBranch(heldBranch.name, file, heldBranch.risks)]),
      ...(branch?.warnings ?? []),
    ],
  };
}

/** The user's own commit, and nothing to say about it: no ref of ours has to keep anything. */
async function isNothingToKeep(
  prepared: PreparedWorkspace,
  commit: string,
  staged: { warnings: readonly string[]; oversized: readonly OversizedFile[] },
): Promise<boolean> {
  if (commit !== prepared.baseCommit || prepared.branch !== undefined) return false;
  if (staged.warnings.length + staged.oversized.length > 0) return false;
  return (await findChangedIncluded(prepared)).length === 0;
}

/** The tree that was safe when the folder of an attempt was looked at last; null when none was. */
export function readSavedTree(attemptDir: string): string | null {
  const file = join(attemptDir, SAVED_TREE_FILE);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** `outputs/` is not in the patch but is work all the same: only ours and what was brought along stays out. */
export async function stageForCustody(prepared: PreparedWorkspace) {
  return await stageWorkspace({
    workspace: prepared.path,
    gitDir: prepared.gitDir,
    exclude: prepared.exclude,
    like: prepared.baselineTree,
    limits: prepared.limits,
    timeoutMs: 600_000,
  });
}

function describeAllKept(prepared: PreparedWorkspace, files: readonly OversizedFile[]): string[] {
  const told = files.slice(0, MAX_TOLD).map((file) => describeKept(prepared, file));
  const rest = files.length - told.length;
  return rest === 0
    ? told
    : [...told, `and ${rest} more files that are too large to be captured; they are kept there, too`];
}

/** W2: what is in no checkpoint stays with the workspace. */
function describeChanged(prepared: PreparedWorkspace, path: string): string {
  return `${path} (workspace.include) was changed and is not in the patch; it is kept in ${placeInTrash(prepared, path)} until the trash expires`;
}

function placeInTrash(prepared: PreparedWorkspace, path: string): string {
  return join(trashPlace(prepared), relative(prepared.attemptDir, prepared.path), path);
}

/** Too large for a checkpoint is not too large to be kept: the removal moves it to the trash, unsaved (W2). */
function describeKept(prepared: PreparedWorkspace, { path, size }: OversizedFile): string {
  const place =
    prepared.kind === 'in-place'
      ? 'it stays where it is'
      : `it is kept in ${placeInTrash(prepared, path)} until the trash expires`;
  return `${path} (${size} bytes) is too large to be captured (limits.captureFile, limits.capture) and not in the patch; ${place}`;
}

/** Where the removal moves an attempt's folder. */
export function trashPlace({ attemptDir }: Pick<PreparedWorkspace, 'attemptDir'>): string {
  return join(dirname(dirname(attemptDir)), 'trash', basename(attemptDir));
}

/** Unchanged files need no commit of their own. */
async function commitOf(prepared: PreparedWorkspace, tree: string): Promise<string> {
  if (tree === prepared.baselineTree && prepared.baselineCommit !== null) return prepared.baselineCommit;
  return await commitTree(prepared.gitDir, {
    tree,
    parents: prepared.baselineCommit === null ? [] : [prepared.baselineCommit],
    message: `caisson: ${prepared.runId}, attempt ${prepared.attempt}\n`,
  });
}

interface PlannedBranch {
  readonly name: string;
  readonly commit: string;
  /** Whether it would bring what a person must say yes to. */
  readonly isHeld: boolean;
  readonly risks: readonly RiskyChange[];
  readonly warnings: readonly string[];
}

/** The branch has the agent's work alone, and never what runs by itself. */
async function planBranch(
  prepared: PreparedWorkspace,
  checkpoint: { complete: string; tree: string; risks: readonly RiskyChange[] },
): Promise<PlannedBranch | null> {
  const { branch: name } = prepared;
  if (name === undefined || !prepared.isUserRepository) return null;
  const ofAgent = await withoutPreparation(prepared, checkpoint.tree);
  const all = ofAgent === checkpoint.tree ? checkpoint.risks : await findHeldBack(prepared, ofAgent);
  const kept = all.filter(({ grade }) => grade === 'never');
  const risks = all.filter(({ grade }) => grade === 'ask');
  const tree = await withoutHeldBack(prepared, ofAgent, kept);
  const commit = tree === checkpoint.tree ? checkpoint.complete : await commitOf(prepared, tree);
  const made = await makeBranchCommit(prepared, { commit, tree });
  return {
    name,
    commit: made.commit,
    isHeld: risks.length > 0,
    risks,
    warnings: [
      ...made.changedSubmodules.map(
        (path) => `changes in submodule ${path} are in the patch but not on ${name}`,
      ),
      ...made.unconverted.map(
        (path) => `${path} is on ${name} as the bytes it is: the repository's filters were not run`,
      ),
    ],
  };
}

function noRepository({ branch, projectRoot }: PreparedWorkspace): WorkspaceError {
  return new WorkspaceError(`Branch ${branch} was asked for, but ${projectRoot} has no git repository.`, {
    remedy: 'Leave out --branch, or run `git init` first.',
  });
}
