/** Commits of an attempt's files, for a branch or a bundle. A checkpoint is a tree: `git log --all` does not show it. */
import { createGit, emptyTreeLike } from '@caisson/ground';

import { messageOf } from './commit-message.ts';
import type { PreparedWorkspace } from './contract.ts';
import { commitTree } from './custody.ts';

export interface Commits {
  /** The commit of a tree on top of the baseline; one for each tree. */
  of(tree: string): Promise<string>;
  /** The same files on top of `branchFrom`, if the workspace has one: a branch that was pushed only grows. */
  after(commit: string): Promise<string>;
}

export function createCommits(prepared: PreparedWorkspace): Commits {
  const made = new Map<string, Promise<string>>();
  let baseline: Promise<string | null> | undefined;
  const make = async (tree: string): Promise<string> => {
    const parent = await (baseline ??= commitBaseline(prepared));
    // Unchanged files need no commit of their own.
    if (tree === prepared.baselineTree && parent !== null) return parent;
    return await commitTree(prepared.gitDir, {
      tree,
      parents: parent === null ? [] : [parent],
      message: messageOf(prepared),
    });
  };
  return {
    async of(tree) {
      const commit = made.get(tree) ?? make(tree);
      made.set(tree, commit);
      return await commit;
    },
    after: (commit) => followBranch(prepared, commit),
  };
}

async function followBranch(prepared: PreparedWorkspace, commit: string): Promise<string> {
  const { gitDir, branchFrom, baseCommit } = prepared;
  if (branchFrom === undefined) return commit;
  const git = createGit({ cwd: gitDir, gitDir });
  const treeOf = (id: string): Promise<string> => git.text(['rev-parse', '--verify', `${id}^{tree}`]);
  const [tree, before] = await Promise.all([treeOf(commit), treeOf(branchFrom)]);
  if (tree === before) return branchFrom;
  const isBehind = ['merge-base', '--is-ancestor', baseCommit ?? branchFrom, branchFrom];
  const isOld = (await git.run(isBehind, { okExitCodes: [0, 1] })).exitCode === 0;
  return await commitTree(gitDir, {
    tree,
    parents: [branchFrom, ...(isOld || baseCommit === null ? [] : [baseCommit])],
    message: messageOf(prepared),
  });
}

/** The user's commit, or one of their uncommitted files on top of it. */
async function commitBaseline(prepared: PreparedWorkspace): Promise<string | null> {
  const { gitDir, baselineTree, baseCommit, baselineCommit, runId, attempt } = prepared;
  if (baselineCommit !== null) return baselineCommit;
  if (baseCommit === null && baselineTree === emptyTreeLike(baselineTree)) return null;
  return await commitTree(gitDir, {
    tree: baselineTree,
    parents: baseCommit === null ? [] : [baseCommit],
    message: `caisson: files before ${runId}, attempt ${attempt}\n`,
  });
}
