/** The work of earlier runs, as a workspace takes it. */
import type { PreparedWorkspace } from './prepared-workspace.ts';

/** The work of an earlier run: its patch, and the base of that patch. */
export interface EarlierWork extends Pick<
  PreparedWorkspace,
  'baselineTree' | 'baseCommit' | 'baselineCommit'
> {
  readonly runId: string;
  readonly patch: Buffer;
}

/** The result of an earlier run, to be merged into the present files (merge-work.ts). */
export interface FinishedWork extends Pick<PreparedWorkspace, 'runId' | 'baselineTree'> {
  /** A patch on the baseline; else the tree of the checkpoint. */
  readonly result: { readonly patch: Buffer } | { readonly tree: string };
  /** A person took it into their files, and continued from there. */
  readonly isApplied: boolean;
}

/** `gone`: baseline or result are no longer there; `elsewhere`: the present files do not have it, and must. */
export type MergeProblem =
  | { readonly kind: 'conflicts'; readonly files: readonly string[] }
  | { readonly kind: 'gone' | 'elsewhere' };
