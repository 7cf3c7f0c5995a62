/** Remote repositories, as a workspace takes them: fetched into our own cache, and pushed to from there. */
import type { RemoteAccess, RemoteAddress } from '@caisson/ground';

/** How a remote is reached. */
export interface RemoteOrder {
  readonly stateDir: string;
  readonly remote: RemoteAddress;
  readonly access: RemoteAccess;
  /** For each connection. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface FetchOrder extends RemoteOrder {
  readonly runId: string;
  readonly attempt: number;
  /** A branch, tag or commit of the remote; default what its HEAD names. */
  readonly base?: string;
  /** The branch that is pushed in the end: a remote that has it with other work than `earlier` is refused now. */
  readonly pushTo?: Pick<PushOrder, 'branch' | 'earlier'>;
  /** The largest pack that is accepted. */
  readonly maxBytes: number;
}

/** The base of a run, in our cache. Plain data. */
export interface FetchedBase {
  /** The cache: a git dir of ours with the objects of this remote, and our refs. */
  readonly dir: string;
  /** Without credentials. */
  readonly url: string;
  /** The name that the remote has for it: a full ref, or the commit itself. */
  readonly ref: string;
  readonly commit: string;
}

export interface PushOrder extends RemoteOrder {
  readonly branch: string;
  readonly commit: string;
  /** Where an earlier run of the same task pushed it; null if it must not be there yet. */
  readonly expected: string | null;
  /**
   * Where all earlier runs of the same task left it. The remote may have it there although nobody could record that: its answer
   * got lost, or its host died.
   */
  readonly earlier: readonly string[];
  readonly runId: string;
  readonly attempt: number;
}

export interface PruneRemotesOptions {
  readonly stateDir: string;
  /** A copy without refs that was not used for so long is dropped. */
  readonly olderThanMs: number;
  /** Objects in the others that no ref names are kept for so long. */
  readonly graceMs: number;
  /** How long ago the oldest run under way began; 0 if there is none. */
  openRunMs(): number;
}

export interface DroppedRemote {
  readonly path: string;
  /** Null for a copy that an earlier version made. */
  readonly url: string | null;
  readonly bytes: number;
}

/** The part of the room that knows remotes. Throws RemoteError for what a remote does. */
export interface RemoteWorkspaces {
  /** Brings the base of a run into the cache of its remote, and pins it there for the run. */
  fetchBase(order: FetchOrder): Promise<FetchedBase>;
  /** Undoes `fetchBase` for an attempt that was not prepared. */
  unpinBase(
    stateDir: string,
    url: string,
    attempt: { readonly runId: string; readonly attempt: number },
  ): Promise<void>;
  /**
   * Pushes a branch of the cache, never over other work, and then gives its name free here: a ref of the run keeps the
   * commit. May be called again.
   */
  pushBranch(order: PushOrder): Promise<void>;
  /**
   * Deletes a branch of a run, of the cache or of the project, that is at this commit; the checkpoint of the run stays.
   * Throws if it is checked out somewhere.
   */
  dropBranch(options: { custodyDir: string; branch: string; commit: string }): Promise<void>;
  /** Drops copies of remotes that nobody needs, and prunes the others (K1 to K3 in prune-remotes.ts). */
  pruneRemotes(options: PruneRemotesOptions): Promise<DroppedRemote[]>;
}
