/** What a garbage collection is asked for, and what it reports. */
import type { SpaceHolder } from '../attempt/index.ts';
import type { DeletedTrash, DroppedRemote, RefRepair } from '../workspace/index.ts';
import type { ForgottenRuns } from './forget-old.ts';
import type { SweptStore } from './sweep-store.ts';

export interface GarbageReport extends SweptStore, ForgottenRuns {
  /** Bytes of disk that the state folder takes less than before. */
  readonly freedBytes: number;
  /** Blobs that the bucket lacked and has now; null without a bucket. */
  readonly sent: number | null;
  readonly results: number;
  readonly spools: number;
  /** Event files of workers, and what background hosts left. */
  readonly logs: number;
  /** Folders of the trash, and of what was held back, that were deleted. */
  readonly workspaces: readonly string[];
  /** Those of them that had something in it, and why. */
  readonly deleted: readonly DeletedTrash[];
  /** Work whose only copy is in the state folder: it stays until a person removes it. */
  readonly heldBack: readonly string[];
  /** Refs of ours that were broken. */
  readonly repairedRefs: readonly RefRepair[];
  /** What takes the space, largest first; empty unless the disk is full. */
  readonly largest: readonly SpaceHolder[];
  /** Our copies of remote repositories that were deleted. */
  readonly remotes: readonly DroppedRemote[];
  /** Boards and findings of runs without a session; a named session stays until it is reset. */
  readonly sessions: readonly string[];
}

export interface GarbageOptions {
  /** Blobs, spools and logs younger than this are kept, and with `all` runs that ended less long ago. Default one day. */
  readonly graceMs?: number;
  /** Trashed workspaces older than this are deleted. Default `limits.trashAge`. */
  readonly trashTtlMs?: number;
  /** Copies of remotes that no run needs, and that were not used for longer, are deleted. Default `git.cacheAge`. */
  readonly remotesTtlMs?: number;
  /** Also deletes the only copy of work that is older than this. Default: never. */
  readonly heldBackTtlMs?: number;
  /** Also forgets every run that ended, unless it has the only copy of work (`heldBackTtlMs` deletes that, too). */
  readonly all?: boolean;
  /** How many events of the ledger were looked at: twice, for refs and for blobs. */
  onProgress?(done: number, total: number): void;
}
