import { homedir } from 'node:os';
import { join } from 'node:path';

import type { Stamp } from '@caisson/ground';

import { applyPatch } from './apply-patch.ts';
import { findCommit } from './baseline.ts';
import { findBranch, isInHistory, writeBranch } from './branch-ref.ts';
import { checkpointWorkspace } from './checkpoint.ts';
import type { Workspaces } from './contract.ts';
import { branchPinRef, findCheckpoint, listCustodies } from './custody.ts';
import { forgetCheckpoints } from './forget.ts';
import { describeGitSettings, SYSTEM_GIT_CONFIG } from './git-settings.ts';
import { inspectWorkspaces } from './inspect.ts';
import { findRepository, findTop } from './locate-repository.ts';
import { measureRefs } from './measure-refs.ts';
import { findMergeProblem } from './merge-problem.ts';
import { prepareWorkspace } from './prepare.ts';
import { dropBranch, pushBranch } from './push-branch.ts';
import { recoverApplies } from './recover-applies.ts';
import { isWithinState, listRecoverable, restoreAttempt, syncAttempt } from './record.ts';
import { fetchBase, unpinBase, type Fetching } from './remote-cache.ts';
import { removeWorkspace } from './remove.ts';
import { emptyTrash, trashMoved } from './trash.ts';
import { pruneOwn } from './prune-own.ts';
import { pruneRemotes } from './prune-remotes.ts';
import { listSavedChanges } from './saved-changes.ts';
import { removeLocks, repairRefs } from './repair-refs.ts';

export type {
  ApplyOptions,
  ApplyResult,
  Checkpoint,
  EarlierWork,
  FetchedBase,
  FinishedWork,
  InspectedWorkspaces,
  MergeProblem,
  PrepareOptions,
  RemoteOrder,
  RemoveResult,
  Workspaces,
} from './contract.ts';
export { PreparedWorkspace } from './contract.ts';
export { adviseBranch } from './advise-git.ts';
export type { BranchStanding, PlannedBranch } from './branch-ref.ts';
export { SYSTEM_GIT_CONFIG } from './git-settings.ts';
export { titleOf } from './commit-message.ts';
export { findTop } from './locate-repository.ts';
export { readSavedTree } from './checkpoint.ts';
export { isOnlyCopy } from './trash.ts';
export { diffText } from './diff-text.ts';
export { hidesOf } from './hiding.ts';
export { WorkspaceError } from './errors.ts';
export { PYTHONS } from './brought-tools.ts';
export { whyNotBrought } from './find-brought.ts';
export { describeMergeProblem } from './merge-problem.ts';
export type { RefUsage } from './measure-refs.ts';
export type { RefRepair } from './repair-refs.ts';
export type { RefProblem } from './survey-refs.ts';
export type { DroppedRemote } from './remote-contract.ts';
export type { DeletedTrash, EmptiedTrash, EmptyTrashOptions } from './trash-contract.ts';

export interface WorkspacesOptions {
  /** Where the user's own git settings and ignore rules are read from. */
  readonly home?: string;
  readonly xdgConfigHome?: string;
  /** Where this user's Caisson keeps what is of no project. */
  readonly userState?: string;
  /** The system's settings of git. Default /etc/gitconfig. */
  readonly systemGitConfig?: string;
  /** Wall clock, for the trash's expiry. */
  readonly now?: () => number;
  /** Signs what a later process acts on: plans and records in the state folder. */
  readonly stamp: Stamp;
}

/** Opens the room. It keeps no state but the fetches that are under way: everything is in the folders. */
export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const home = options.home ?? homedir();
  const user = { home, xdgConfigHome: options.xdgConfigHome ?? join(home, '.config') };
  const userState = options.userState ?? join(home, '.local/state/caisson');
  const now = options.now ?? Date.now;
  const { stamp } = options;
  const fetching: Fetching = new Map();
  return {
    findTop: ({ projectRoot }) => findTop(projectRoot),
    async findCommit({ projectRoot, ref }) {
      const repository = await findRepository(projectRoot, user);
      return repository === null ? null : await findCommit(repository, ref);
    },
    async hasCommit({ projectRoot, commit }) {
      const repository = await findRepository(projectRoot, user);
      return repository !== null && (await isInHistory(repository.commonDir, commit));
    },
    async measureRefs({ projectRoot }) {
      const repository = await findRepository(projectRoot, user);
      return repository === null ? null : await measureRefs(repository.commonDir);
    },
    fetchBase: (order) => fetchBase(order, fetching),
    unpinBase,
    pushBranch,
    dropBranch,
    pruneRemotes: (given) => pruneRemotes(given, now()),
    prepare: (given) => prepareWorkspace(given, { user, stamp }),
    findMergeProblem: (given) => findMergeProblem(given, user),
    describeGitSettings: (prepared) =>
      describeGitSettings(prepared, options.systemGitConfig ?? SYSTEM_GIT_CONFIG),
    sync: syncAttempt,
    restore: (prepared) => restoreAttempt(prepared, stamp),
    checkpoint: checkpointWorkspace,
    findCheckpoint,
    listSavedChanges,
    remove: removeWorkspace,
    gc: (given) => emptyTrash({ ...given, nowMs: now() }),
    pruneOwn: ({ stateDir, olderThanMs }) => pruneOwn(stateDir, now() - olderThanMs),
    trashMoved: ({ stateDir, isOver }) => trashMoved(stateDir, stamp, isOver),
    recoverList: ({ stateDir }) => listRecoverable(stateDir, stamp),
    inspect: (given) => inspectWorkspaces(given, { user, stamp }),
    apply: (given) => applyPatch(given, { user, stamp, userState }),
    isWithinState: (prepared, { stateDir }) => isWithinState(prepared, stateDir),
    recoverApplies: (given) => recoverApplies({ ...given, stamp }),
    forget: (given) => forgetCheckpoints(given, user),
    findBranch: (given) => findBranch(given, user),
    writeBranch: ({ custodyDir, branch, runId, attempt, from }) =>
      writeBranch(custodyDir, branch, { from, pin: branchPinRef(runId, attempt) }),
    removeLocks: async (given) => removeLocks(await listCustodies(given, user), given.runId),
    repairRefs: async (given) => repairRefs(await listCustodies(given, user), given.known),
  };
}
