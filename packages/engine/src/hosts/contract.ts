/**
 * Which processes own runs of this project, and how to send them orders.
 * H1  A host listens on `runtime/hosts/<id>.sock` (0600) for as long as it lives, and makes it again when it was removed;
 *     connection refused means dead, unless it is the daemon of the project and its process lives.
 * H2  Orders (cancel, send, approve) go to the host that owns the run; no other process touches its worker.
 * H3  While it lives it sets some space aside, for endings that must be recorded on a disk that its own runs filled.
 * H4  Any process of the user may follow a host: it gets what happens there, live, and can neither slow the host nor
 *     make its memory grow.
 */
import type { FollowOrder, HostOrder } from './orders.ts';

export type { FollowOrder, HostOrder } from './orders.ts';

export type HostReply =
  | { readonly ok: true; readonly value?: unknown }
  | { readonly ok: false; readonly message: string };

/** What a follower gets, one object an event; shared objects are encoded once. It ends with the signal. */
export type FollowHost = (order: FollowOrder, gone: AbortSignal) => AsyncIterable<object>;

export interface HostPost {
  readonly hostId: string;
  /** Makes the socket again if it was removed. It is noticed by itself, too, where only the socket was. */
  check(): Promise<void>;
  /** Resolves when no connection is left; none holds it up for long. */
  stop(): Promise<void>;
}

export interface PostOptions {
  /** Whether the state folder is still at its path: in a project that was moved, nothing is made at the old place. */
  isInPlace?(): boolean;
  warn?(message: string): void;
}

export interface Hosts {
  /** Starts to listen; `obey` carries out every order, and `follow` is what followers get. */
  open(
    hostId: string,
    obey: (order: HostOrder) => Promise<HostReply>,
    follow: FollowHost,
    how?: PostOptions,
  ): Promise<HostPost>;
  /** Its socket is open, or its process is known to live. */
  isAlive(hostId: string): Promise<boolean>;
  /** Hosts whose socket is at least this old; a younger one may be opening. */
  list(olderThanMs: number): string[];
  /** Gives back a part of what a host set aside (H3); false when nothing is left of it. */
  freeReserve(hostId: string): boolean;
  /** Removes what a host that is known to be dead left: its socket, and what it had set aside. */
  forget(hostId: string): void;
  /** Throws HostUnreachableError when there is no answer, or none in time; the limit is ten seconds unless given. */
  order(hostId: string, order: HostOrder, how?: { readonly limitMs?: number }): Promise<HostReply>;
  /**
   * Calls `receive` with each value that the host sends. Resolves when that is over, in whatever way: `ok` if the host
   * was followed, else why not. A host that stands still is waited for.
   */
  follow(
    hostId: string,
    order: FollowOrder,
    how: { receive(event: unknown): void; signal: AbortSignal },
  ): Promise<HostReply>;
}
