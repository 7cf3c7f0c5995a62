export * from './atomic-file.ts';
export * from './bounded-command.ts';
export * from './clock.ts';
export * from './redactor.ts';
export { explainError, findDiskTrouble } from './disk-trouble.ts';
export * from './errno.ts';
export { beneath, inFolder, LinkInPathError } from './beneath.ts';
export { claimFolder, type FolderClaim } from './folder-claim.ts';
export { LockTimeoutError, withFileLock, type LockOptions } from './file-lock.ts';
export { isSticky, isWritableByOthers, ownUid } from './folder-owner.ts';
export { createSeal, type Seal } from './seal.ts';
export { statIfThere } from './stat-if-there.ts';
export { makeFolder } from './make-folder.ts';
export { createGit, GitError, type Git, type GitOptions, type GitOutput, type GitRunOptions } from './git.ts';
export * from './git-index.ts';
export { forgetIndexStats, replaceEntries, revealEntries, type ReplacedEntry } from './rewrite-index.ts';
export * from './own-git-dir.ts';
export type { OversizedFile, StageLimits } from './oversized-files.ts';
export { TooManyOversizedError } from './oversized-files.ts';
export * from './patch.ts';
export {
  describeFile,
  listCommitChanges,
  listTreeChanges,
  rewriteTree,
  undoOf,
  type TreeChange,
} from './tree-changes.ts';
export { judgeChanges, judgeFiles, judgeTrees, type FileState, type RiskyChange } from './risky-changes.ts';
export { readBlobs } from './read-blobs.ts';
export { readPreparation, rememberStart, undoLaid, withoutPreparation } from './preparation.ts';
export * from './patch-files.ts';
export * from './forget-staged.ts';
export * from './stage-workspace.ts';
export { createPresence, isWorkspaceBare } from './workspace-folder.ts';
export { rememberStaged, takeMark, type StageMark } from './staged-memory.ts';
export * from './user-git-config.ts';
export { removeTree } from './remove-tree.ts';
export * from './process-tree.ts';
export * from './process-wait.ts';
export * from './kill-marked.ts';
export * from './sandbox/index.ts';
export * from './child.ts';
export * from './clean-room.ts';
export { includeFiles, IncludeError, type IncludeOptions } from './include-files.ts';
export * from './cgroup/index.ts';
export * from './growth-watch.ts';
export * from './shared-file.ts';
export * from './board.ts';
export * from './context-registry.ts';
export * from './unlinked-files.ts';
export * from './control-files.ts';
export { isGitDir, listHarmfulParts } from './git-controls.ts';
export { listCommandWords } from './command-words.ts';
