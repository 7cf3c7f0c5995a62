/** Refs that keep what a checkpoint builds on, or is about to become. */
import { emptyTreeLike } from '@caisson/ground';

import type { PlannedBranch } from './branch-ref.ts';
import type { PreparedWorkspace } from './contract.ts';
import { baseCommitRef, baselineRef, branchPinRef } from './custody.ts';

/**
 * What the work began with: the user may drop their commit (`commit --amend`), and a merge needs its files. A bundle
 * needs the commit itself. Files that were not committed have their ref since the preparation.
 */
export function pinBase(
  { runId, attempt, baselineTree, baseCommit, baselineCommit }: PreparedWorkspace,
  hasBundle: boolean,
): [string, string][] {
  const isPinned = baselineCommit === null || baselineTree === emptyTreeLike(baselineTree);
  const pins: [string, string][] = [];
  if (!isPinned) pins.push([baselineRef(runId, attempt), baselineTree]);
  if (hasBundle && baseCommit !== null) pins.push([baseCommitRef(runId, attempt), baseCommit]);
  return pins;
}

/** Nothing else reaches the commit of a branch until the run ends. */
export function pinBranch(
  { runId, attempt }: PreparedWorkspace,
  branch: PlannedBranch | null,
): [string, string][] {
  if (branch === null || branch.isHeld) return [];
  return [[branchPinRef(runId, attempt), branch.commit]];
}
