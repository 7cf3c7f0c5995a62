export { copyIndex } from './copy-index.ts';
export * from './git-index.ts';
export { GitError, createGit, type Git, type GitOptions, type GitOutput, type GitRunOptions } from './git.ts';
export * from './own-git-dir.ts';
export * from './patch-files.ts';
export { readBlobs, whichExist } from './read-blobs.ts';
export { forgetIndexStats, replaceEntries, revealEntries, type ReplacedEntry } from './rewrite-index.ts';
export { removeIndex, useIndex } from './scratch-index.ts';
export { spliceEntries } from './splice-entries.ts';
export {
  describeFile,
  listCommitChanges,
  listTreeChanges,
  rewriteTree,
  type TreeChange,
  undoOf,
} from './tree-changes.ts';
export * from './user-git-config.ts';
