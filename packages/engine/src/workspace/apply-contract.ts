/** How a patch is brought into the project's files, and what becomes of it. */
import type { ListedRisk, OwnControl } from '@caisson/protocol';

export interface ApplyOptions {
  readonly projectRoot: string;
  readonly stateDir: string;
  readonly patch: Buffer;
  /** The base commit of the patch; separates the user's uncommitted changes from committed ones. */
  readonly baseCommit: string | null;
  /** Merge where files have moved on since the baseline. */
  readonly threeWay: boolean;
  /** With `threeWay`: leave conflict markers in the files instead of changing nothing. */
  readonly leaveConflicts?: boolean;
  /** Merge into files with uncommitted changes too. */
  readonly force?: boolean;
  /** Risky files that the project's settings name, relative to the project. */
  readonly controls?: readonly OwnControl[];
  /** Apply changes of grade `ask` (risky-paths.ts), too. */
  readonly allowRisky?: boolean;
  /** Called when an earlier, interrupted apply was undone. */
  readonly onNotice?: (message: string) => void;
}

export type ApplyResult =
  | {
      readonly kind: 'applied';
      readonly files: readonly string[];
      /** Nothing to do: the run worked in the user's own files, or they were already as the patch makes them. */
      readonly already?: 'in-place' | 'there';
    }
  | { readonly kind: 'conflicts'; readonly files: readonly string[]; readonly areMarkersLeft: boolean }
  | { readonly kind: 'dirty'; readonly files: readonly string[] }
  /** Nothing was changed: a person must agree to these, or (`isRefused`) they are never allowed. */
  | {
      readonly kind: 'risky';
      readonly files: readonly string[];
      readonly risks: readonly ListedRisk[];
      readonly isRefused: boolean;
    };
