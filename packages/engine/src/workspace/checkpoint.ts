/** Custody: in every ending, the attempt's files and the agent's commits are saved before anything is removed. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  emptyTreeLike,
  forgetStaged,
  isWorkspaceBare,
  stageWorkspace,
  withoutPreparation,
  writeFileAtomic,
  type OversizedFile,
  type RiskyChange,
} from '@caisson/ground';

import { besideGc, nameByRefs, takeOwnStore } from './beside-gc.ts';
import { makeBranchCommit } from './branch-commit.ts';
import type { Clean } from './clean-commits.ts';
import type { PlannedBranch } from './branch-ref.ts';
import type { Checkpoint, PreparedWorkspace } from './contract.ts';
import { createCommits, type Commits } from './commits.ts';
import { checkpointRef } from './custody.ts';
import {
  describeBeside,
  describeHeldBack,
  describeHeldBranch,
  findHeldBack,
  heldBackPlace,
  sortHeads,
  withoutHeldBack,
  writeBundle,
} from './held-back.ts';
import { hidesOf } from './hiding.ts';
import { findChangedIncluded } from './included-memory.ts';
import { nameSome } from './name-some.ts';
import { saveCommits } from './nested-history.ts';
import { describeAllUnread, describeUnread, findUnread } from './unread-work.ts';
import { pinBase, pinBranch } from './pins.ts';

/** Names the saved tree; removal compares the files with it. */
export const SAVED_TREE_FILE = 'saved-tree';

export async function checkpointWorkspace(
  prepared: PreparedWorkspace,
  { clean = null }: { clean?: Clean | null } = {},
): Promise<Checkpoint | null> {
  return await besideGc(
    (isAgain) => takeCheckpoint(prepared, clean, isAgain),
    async () => {
      await takeOwnStore(prepared.gitDir);
      await forgetStaged({ ...prepared, workspace: prepared.path });
    },
  );
}

async function takeCheckpoint(
  prepared: PreparedWorkspace,
  clean: Clean | null,
  isAgain: boolean,
): Promise<Checkpoint | null> {
  if (await isStillEmpty(prepared)) return null;
  const staged = await stageForCustody(prepared);
  const agent = await saveCommits(prepared, staged, clean, isAgain);
  const commits = createCommits(prepared);
  const ref = checkpointRef(prepared.runId, prepared.attempt);
  const risks = await findHeldBack(prepared, staged.tree);
  const tree = await withoutHeldBack(prepared, staged.tree, risks);
  const heads = await sortHeads(prepared, agent.refs);
  const branch = await planBranch(prepared, commits, { tree: staged.tree, risks });
  const held = new Map([
    ...(tree === staged.tree ? [] : [[ref, await commits.of(staged.tree)] as const]),
    ...heads.held,
    ...(branch?.isHeld === true ? [[`refs/heads/${branch.name}`, branch.commit] as const] : []),
  ]);
  const file = held.size === 0 ? null : await writeBundle(prepared, held); // H3
  const unread = await findUnread(prepared, staged);
  const saved = held.size + heads.visible.size + agent.nested.length;
  const isAlone = saved + agent.warnings.length + unread.length === 0;
  const isNothing = isAlone && (await isNothingToKeep(prepared, staged));
  if (!isNothing)
    await nameByRefs(
      { ...prepared, known: prepared.baseCommit },
      new Map([
        [ref, tree],
        ...pinBase(prepared, file !== null),
        ...pinBranch(prepared, branch),
        ...heads.visible,
      ]),
    );
  await writeFileAtomic(join(prepared.attemptDir, SAVED_TREE_FILE), staged.tree, { durable: false });
  if (isNothing) return null;
  const beside = [
    ...describeBeside(prepared, agent.beside, held, file),
    ...unread.flatMap((found) => describeUnread(prepared, found)),
    ...agent.nested,
  ];
  const found = { risks, headPaths: heads.paths, ref: [...held.keys()][0] ?? ref };
  return {
    ref,
    commit: tree,
    tree,
    heads: [...heads.visible.keys()],
    ...(file === null ? {} : { heldBack: { file, paths: risks.map(({ path }) => path) } }),
    ...(beside.length === 0 ? {} : { beside }),
    ...(branch === null ? {} : { branch: toPlan(branch) }),
    warnings: [
      ...(await describeLeftOut(prepared, staged)),
      ...agent.warnings,
      ...unread.map((found) => describeAllUnread(prepared, found)),
      ...(file === null ? [] : describeHeldBack(prepared, file, found)),
      ...describeBranch(prepared, branch, file),
    ],
  };
}

const toPlan = ({ name, commit, isHeld, isEmpty }: MadeBranch): PlannedBranch => ({
  ...{ name, commit, isHeld },
  ...(isEmpty === true ? { isEmpty } : {}),
});

function describeBranch(
  prepared: PreparedWorkspace,
  branch: MadeBranch | null,
  file: string | null,
): string[] {
  if (branch === null) return [];
  const { name, isHeld, risks, warnings } = branch;
  return [...(file !== null && isHeld ? [describeHeldBranch(prepared, name, file, risks)] : []), ...warnings];
}

async function isStillEmpty({ path, exclude, baselineTree, agentGit }: PreparedWorkspace): Promise<boolean> {
  if (baselineTree !== emptyTreeLike(baselineTree) || agentGit !== undefined) return false;
  return await isWorkspaceBare(path, exclude);
}

/** The baseline, without warnings: the user's commit, or the ref of their uncommitted files, has all of it. */
async function isNothingToKeep(
  prepared: PreparedWorkspace,
  staged: { tree: string; warnings: readonly string[]; oversized: readonly OversizedFile[] },
): Promise<boolean> {
  if (staged.tree !== prepared.baselineTree || prepared.branch !== undefined) return false;
  if (staged.warnings.length + staged.oversized.length > 0) return false;
  return (await findChangedIncluded(prepared)).length === 0;
}

/** The tree that was saved when the folder of an attempt was last inspected; null when none was. */
export function readSavedTree(attemptDir: string): string | null {
  const file = join(attemptDir, SAVED_TREE_FILE);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** `outputs/` is not in the patch but is work all the same: only our files and included ones stay out. */
export async function stageForCustody(prepared: PreparedWorkspace) {
  return await stageWorkspace({
    workspace: prepared.path,
    gitDir: prepared.gitDir,
    exclude: prepared.exclude,
    like: prepared.baselineTree,
    limits: prepared.limits,
    hides: hidesOf(prepared),
    timeoutMs: 600_000,
  });
}

/** The parts of the workspace that are in no patch. */
async function describeLeftOut(
  prepared: PreparedWorkspace,
  staged: { warnings: readonly string[]; oversized: readonly OversizedFile[] },
): Promise<string[]> {
  const changed = await findChangedIncluded(prepared);
  return [
    ...staged.warnings,
    ...describeAllKept(prepared, staged.oversized),
    ...changed.map((path) => describeChanged(prepared, path)),
  ];
}

function describeAllKept(prepared: PreparedWorkspace, files: readonly OversizedFile[]): string[] {
  if (files.length === 0) return [];
  const names = nameSome(files.map(({ path, size }) => `${path} (${size} bytes)`));
  const place = prepared.kind === 'in-place' ? 'they stay where they are' : describePlace(prepared);
  return [
    `too large to be captured (limits.captureFile, limits.capture), so not in the patch: ${names}; ${place}`,
  ];
}

/** W2: the removal moves what is in no checkpoint to where nothing expires. */
function describeChanged(prepared: PreparedWorkspace, path: string): string {
  return `${path} (workspace.include) was changed and is not in the patch; ${describePlace(prepared)}`;
}

function describePlace(prepared: PreparedWorkspace): string {
  return `kept in ${heldBackPlace(prepared)} until you take it away (caisson forget ${prepared.runId})`;
}

interface MadeBranch extends PlannedBranch {
  readonly risks: readonly RiskyChange[];
  readonly warnings: readonly string[];
}

/** The branch has the agent's work alone, and never what runs by itself. */
async function planBranch(
  prepared: PreparedWorkspace,
  commits: Commits,
  checkpoint: { tree: string; risks: readonly RiskyChange[] },
): Promise<MadeBranch | null> {
  const { branch: name } = prepared;
  if (name === undefined || (!prepared.isUserRepository && prepared.remote === undefined)) return null;
  const ofAgent = await withoutPreparation(prepared, checkpoint.tree);
  const all = ofAgent === checkpoint.tree ? checkpoint.risks : await findHeldBack(prepared, ofAgent);
  const kept = all.filter(({ grade }) => grade === 'never');
  const risks = all.filter(({ grade }) => grade === 'ask');
  const tree = await withoutHeldBack(prepared, ofAgent, kept);
  const made = await makeBranchCommit(prepared, { commit: await commits.of(tree), tree });
  return {
    name,
    commit: await commits.after(made.commit),
    isHeld: risks.length > 0,
    isEmpty: ofAgent === prepared.baselineTree,
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
