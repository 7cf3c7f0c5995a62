export { writeCommit } from './commit-object.ts';
export { copyIndex } from './copy-index.ts';
export * from './git-index.ts';
export { dropExtensions } from './index-entries.ts';
export { findIndexTree, writeIndexTree } from './index-trees.ts';
export { loosePath } from './loose-object.ts';
export { GitError, createGit, type Git, type GitOptions, type GitOutput, type GitRunOptions } from './git.ts';
export * from './own-git-dir.ts';
export * from './patch-files.ts';
export * from './slice-patch.ts';
export { readBlobs, whichExist } from './read-blobs.ts';
export { forgetIndexStats, replaceEntries, revealEntries, type ReplacedEntry } from './rewrite-index.ts';
export { readRefFiles, writeRefFiles, type Ref } from './ref-files.ts';
export * from './remote-address.ts';
export * from './remote-git.ts';
export type { RemoteAccess } from './remote-profile.ts';
export { removeIndex, useIndex } from './scratch-index.ts';
export { spliceEntries } from './splice-entries.ts';
export {
  describeFile,
  listCommitChanges,
  listRenamedChanges,
  listTreeChanges,
  rewriteTree,
  takePatch,
  type TreeChange,
  undoOf,
} from './tree-changes.ts';
export { findTreeOfCommit } from './tree-of-commit.ts';
export * from './user-git-config.ts';
