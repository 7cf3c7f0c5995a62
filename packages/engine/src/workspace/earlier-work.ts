/** Begins a workspace with the work of an earlier run: its baseline stays the baseline, its patch is applied on top. */
import { createGit, emptyTreeLike, GitError, rememberStart } from '@caisson/ground';

import type { EarlierWork, PrepareOptions } from './contract.ts';
import { baselineRef, updateRefs } from './custody.ts';
import { signalOf } from './stage-present.ts';

/** Fills the index with the work. Null when baseline, its commit or patch are gone. */
export async function seedWithWork(
  gitDir: string,
  custodyDir: string,
  work: EarlierWork,
  options: PrepareOptions,
): Promise<string | null> {
  const git = createGit({ cwd: gitDir, gitDir, workTree: gitDir, timeoutMs: 600_000, ...signalOf(options) });
  try {
    await git.run(['read-tree', work.baselineTree]);
    if (work.baseCommit !== null) await git.run(['cat-file', '-e', work.baseCommit]); // a ref keeps only its files
    if (work.patch.length > 0)
      await git.run(['apply', '--cached', '--whitespace=nowarn', '-'], { stdin: work.patch });
    const tree = await git.text(['write-tree']);
    await pinOwnBaseline(custodyDir, work, options);
    await rememberStart(gitDir, tree);
    return tree;
  } catch (error) {
    if (!(error instanceof GitError) || options.signal?.aborted === true) throw error;
    await git.run(['read-tree', '--empty']);
    return null;
  }
}

/** The baseline outlives the run it was first made for. */
async function pinOwnBaseline(custodyDir: string, work: EarlierWork, options: PrepareOptions): Promise<void> {
  const { baselineTree } = work;
  if (findBaselineCommit(work) !== null || baselineTree === emptyTreeLike(baselineTree)) return;
  await updateRefs(custodyDir, new Map([[baselineRef(options.runId, options.attempt), baselineTree]]));
}

/**
 * The user's commit with the files that the work began with; null if they were not committed. Then an earlier version
 * made a commit of them, which is gone with the run that it was made for; the tree is pinned for this run, too.
 */
export function findBaselineCommit({ baselineCommit, baseCommit }: EarlierWork): string | null {
  return baselineCommit === baseCommit ? baselineCommit : null;
}

export const describeLostWork = ({ runId }: EarlierWork): string =>
  `the work of ${runId} is gone; this run begins with the present files`;
