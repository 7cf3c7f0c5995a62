/**
 * Workspaces: the folder an attempt works in, from its making to its removal.
 *
 * absent ──prepare──► ready ──checkpoint──► saved ──remove──► trashed ──gc after expiry──► gone
 *                       └──remove──► refused (unsaved work, live processes)
 *
 * W1  The user's index, stash, config, working files (except `in-place`) and refs outside `refs/caisson` are never
 *     written, except the branch that a task asked for (branch-ref.ts).
 * W2  The only copy of work is never deleted: only what a checkpoint contains, and ignored files, expire. What
 *     no checkpoint contains (too large, included files that changed, hidden by the run's own ignore rules or by rules of the user) is in
 *     `held-back/` until a person removes it.
 * W3  Nothing of a repository runs on the host: all git goes through ground's hardened git.
 * W5  What a checkout, a fetch or a push can reach has passed the table of risky paths (held-back.ts).
 * W4  The agent's git dir is untrusted data: the host never opens it as a repository.
 */
import type { StageLimits } from '@caisson/ground';
import type { OwnControl, PathRule, WorkBeside } from '@caisson/protocol';

import type { ApplyOptions, ApplyResult } from './apply-contract.ts';
import type { BranchOutcome, BranchStanding, PlannedBranch } from './branch-ref.ts';
import type { RefUsage } from './measure-refs.ts';
import type { PreparedWorkspace, WorkspaceKind } from './prepared-workspace.ts';
import type { KnownRefs, RefRepair } from './repair-refs.ts';
import type { FetchedBase, RemoteWorkspaces } from './remote-contract.ts';
import type { RefProblem } from './survey-refs.ts';
import type { EmptiedTrash, EmptyTrashOptions } from './trash-contract.ts';
import type { EarlierWork, FinishedWork, MergeProblem } from './work-contract.ts';

export type * from './apply-contract.ts';
export * from './prepared-workspace.ts';
export type * from './remote-contract.ts';
export type * from './work-contract.ts';

export interface PrepareOptions {
  readonly kind: WorkspaceKind;
  readonly projectRoot: string;
  readonly stateDir: string;
  /** Absolute paths that are neither brought along nor part of a patch or checkpoint. */
  readonly keepOut?: readonly string[];
  readonly runId: string;
  readonly attempt: number;
  readonly title?: string;
  /** Start from this commit instead of the user's present files. Worktree only. */
  readonly baseRef?: string;
  /** Start from this commit of a remote: the project gives nothing but the place where the agent sees the files. */
  readonly fetched?: FetchedBase;
  /** The commit of the branch that the work of an earlier run is on: the new one follows it. Only with `fetched`. */
  readonly branchFrom?: string;
  /**
   * Continue this work instead of the user's present files: same baseline, so that the patch contains all of it. If it
   * is gone, the workspace begins with the present files and warns. Not in place.
   */
  readonly work?: EarlierWork;
  /** Begin with the present files and this in them; throws if they cannot be merged. Worktree only. */
  readonly merge?: FinishedWork;
  /** Ignored files and folders to bring along, relative to the project; `*` patterns allowed. */
  readonly include: readonly string[];
  /** Folders to show with a private overlay on top: those that tools need (`detect`), and named ones (find-brought.ts). */
  readonly bring?: { readonly detect: boolean; readonly paths: readonly string[] };
  /** Whether a clean room will be built from it: its parts are kept out of the agent's reach from the beginning. */
  readonly cleanRoom?: boolean;
  /** The branch for the run's work. */
  readonly branch?: string;
  /** Risky files that the project's settings name, relative to the project. */
  readonly controls?: readonly OwnControl[];
  /** Let changes of grade `ask` (risky-paths.ts) onto the branch and the checkpoint's ref. */
  readonly allowRisky?: boolean;
  /** Rules about files, relative to the project: uncommitted files that `no-access` hides are in no baseline, patch or checkpoint. */
  readonly rules?: readonly PathRule[];
  /** Larger files are neither captured nor in the checkpoint; they are kept with the workspace and named. */
  readonly limits?: StageLimits;
  /** False with `--sandbox none`: no mounts, so the private git dir is wired by links. Default true. */
  readonly sandboxed?: boolean;
  readonly signal?: AbortSignal;
}

export interface Checkpoint {
  readonly ref: string;
  /** What the ref names: the tree; a commit of it in runs of earlier versions. */
  readonly commit: string;
  readonly tree: string;
  /** Refs that keep the agent's own commits. */
  readonly heads: readonly string[];
  /** What no ref may reach, and the file with all of the work (held-back.ts). */
  readonly heldBack?: { readonly file: string; readonly paths: string[] };
  /** Work that is not in the patch. */
  readonly beside?: WorkBeside[];
  /** The plan of the requested branch; `writeBranch` makes it when the run ends. */
  readonly branch?: PlannedBranch;
  readonly warnings: readonly string[];
}

export interface RemoveOptions {
  readonly force?: boolean;
  readonly isProvenGone?: boolean;
}

export type RemoveResult =
  | { readonly kind: 'removed' }
  | { readonly kind: 'trashed'; readonly path: string; readonly isSaved: boolean }
  | { readonly kind: 'refused'; readonly reason: 'live-processes'; readonly pids: readonly number[] }
  | { readonly kind: 'refused'; readonly reason: 'unsaved-work' };

export interface RecoverableWorkspace {
  readonly runId: string;
  readonly attempt: number;
  readonly attemptDir: string;
  /** Null when the host died before the workspace was ready: no agent has run in it. */
  readonly prepared: PreparedWorkspace | null;
}

/** A ref under `refs/caisson/`. */
export interface OwnRef {
  readonly repository: string;
  readonly ref: string;
  readonly runId: string;
  /** What is wrong with it; null if it names an existing object. */
  readonly problem: RefProblem | null;
}

/** An attempt folder whose paths lead elsewhere, so that it can be neither saved nor compared. */
export interface MovedWorkspace {
  readonly runId: string;
  readonly attemptDir: string;
  /** Where it was made. */
  readonly from: string;
}

export interface InspectedWorkspaces {
  /** Read as they are asked for: there may be as many as there were attempts. */
  refs(): AsyncIterable<OwnRef>;
  /** Attempt folders that were never removed; `hasRepository`: the repository of their checkpoints still exists. */
  readonly attempts: readonly (RecoverableWorkspace & { readonly hasRepository: boolean })[];
  /** Attempt folders of ours that were made elsewhere: the state folder has been moved since. */
  readonly moved: readonly MovedWorkspace[];
  /** What else lies beside them: others made it, or its record cannot be read. */
  readonly foreign: readonly string[];
}

/** The only room that runs git on the host. */
export interface Workspaces extends RemoteWorkspaces {
  /** Top of the repository that the project is in; null when there is none that git accepts. */
  findTop(options: { projectRoot: string }): Promise<string | null>;
  /** The commit that `ref` names in the project's repository; null when there is no such commit, or no repository. */
  findCommit(options: { projectRoot: string; ref: string }): Promise<string | null>;
  /** Makes the attempt's folder and its baseline. Throws {@link WorkspaceError}; leaves nothing half-made behind. */
  prepare(options: PrepareOptions): Promise<PreparedWorkspace>;
  /**
   * Why `prepare` could not merge the result of an earlier run into the present files; null if it can. In place nothing
   * is merged: the present files must have it. Leaves nothing behind.
   */
  findMergeProblem(
    options: Pick<
      PrepareOptions,
      'kind' | 'projectRoot' | 'stateDir' | 'keepOut' | 'rules' | 'baseRef' | 'limits'
    > & {
      readonly merge: FinishedWork;
    },
  ): Promise<MergeProblem | null>;
  /** What git in the sandbox finds as the settings of the system, without keys of the host; '' for nothing. */
  describeGitSettings(prepared: PreparedWorkspace): Promise<string>;
  /** Makes what a later host needs of the workspace survive a power cut: not its files, nor what `restore` makes again. */
  sync(prepared: PreparedWorkspace): Promise<void>;
  /** Makes again what a power cut may have taken beside the files; a later host knows the workspace from the ledger. */
  restore(prepared: PreparedWorkspace): Promise<void>;
  /**
   * Saves every file that is not ignored, and the agent's own commits, under `refs/caisson/`; they survive a power cut.
   * Null when there is nothing to save: an empty workspace is still empty, or the files are those of the user's commit.
   * No process may write to the workspace. May be called again. `clean` removes secrets from what the agent wrote
   * beside its files: commit messages, authors, names of branches.
   */
  checkpoint(
    prepared: PreparedWorkspace,
    options?: { clean?: ((text: Buffer) => Buffer) | null },
  ): Promise<Checkpoint | null>;
  /** The checkpoint of the attempt; null if it has none, or its repository is gone. */
  findCheckpoint(
    prepared: Pick<PreparedWorkspace, 'custodyDir' | 'runId' | 'attempt'>,
  ): Promise<Pick<Checkpoint, 'ref' | 'commit' | 'tree'> | null>;
  /** Files that the attempt's checkpoint changed, but for those that no patch has; none where there is no checkpoint. */
  listSavedChanges(prepared: PreparedWorkspace): Promise<readonly string[]>;
  /**
   * Moves the attempt's folder to the trash; refuses while processes live in it, or while work is unsaved. With `force`
   * unsaved work is moved to the trash, too, where it does not expire. `isProvenGone`: the end of the attempt's last
   * process was seen, so no other is looked for; what anyone else has changed by then is unsaved work.
   */
  remove(prepared: PreparedWorkspace, options?: RemoveOptions): Promise<RemoveResult>;
  /** Whether a branch or tag of the user has the commit in its history, now. */
  hasCommit(options: { projectRoot: string; commit: string }): Promise<boolean>;
  /** What exists at a branch name; null without a repository. */
  findBranch(options: {
    projectRoot: string;
    name: string;
    /** In our copy of this remote instead. */
    remote?: { readonly stateDir: string; readonly url: string };
  }): Promise<BranchStanding | null>;
  /** Writes the branch of a run that ends (branch-ref.ts); may be called again. */
  writeBranch(options: {
    custodyDir: string;
    branch: PlannedBranch;
    runId: string;
    /** The attempt that planned it. */
    attempt: number;
    /** Where an earlier run of the same task left it. */
    from: string | null;
  }): Promise<BranchOutcome>;
  /** Deletes what has expired in the trash, and the oldest of what is too much; the only copy of work stays (W2). */
  gc(options: EmptyTrashOptions): Promise<EmptiedTrash>;
  /** Removes objects that no ref names from our own repository, which no git of the user cleans up. */
  pruneOwn(options: { stateDir: string; olderThanMs: number }): Promise<void>;
  /**
   * Moves to the trash what is in a state folder that has been moved since: its paths lead elsewhere, so it can be
   * neither saved nor compared, and counts as unsaved. Only of runs that `isOver`. Returns what it was, and
   * its new place.
   */
  trashMoved(options: {
    stateDir: string;
    isOver(runId: string): boolean;
  }): Promise<readonly (MovedWorkspace & { readonly trashed: string })[]>;
  /**
   * Finds our broken refs; each is set to its known commit, or removed. Missing ones are made again if git still has
   * the commit.
   */
  repairRefs(options: {
    projectRoot: string;
    stateDir: string;
    known: KnownRefs;
  }): Promise<readonly RefRepair[]>;
  /** Takes the locks of a run's refs away. Only for a run that no living host drives. */
  removeLocks(options: { projectRoot: string; stateDir: string; runId: string }): Promise<void>;
  /** Every attempt folder of ours that was never removed, oldest first. */
  recoverList(options: { stateDir: string }): Promise<readonly RecoverableWorkspace[]>;
  /** What our refs keep in the project's repository; null without one. */
  measureRefs(options: { projectRoot: string }): Promise<RefUsage | null>;
  /** Every ref and attempt folder of ours, of every run. */
  inspect(options: { projectRoot: string; stateDir: string }): Promise<InspectedWorkspaces>;
  /** Applies a patch to the project's files: all of it or nothing, unless conflicts are requested. */
  apply(options: ApplyOptions): Promise<ApplyResult>;
  /** Whether every folder that is to be saved or removed is inside this state folder. */
  isWithinState(prepared: PreparedWorkspace, options: { stateDir: string }): Promise<boolean>;
  /** Undoes what an interrupted apply left in this project; returns what was done, in words. */
  recoverApplies(options: { stateDir: string; projectRoot: string }): Promise<readonly string[]>;
  /** Deletes a run's refs and, unless `onlyRefs`, all that is kept of its files; only on a person's explicit request. */
  forget(options: {
    projectRoot: string;
    stateDir: string;
    runId: string;
    onlyRefs?: boolean;
  }): Promise<void>;
}
