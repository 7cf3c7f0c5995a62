/**
 * Which processes own runs of this project, and how to send them orders.
 * H1  A host listens on `runtime/hosts/<id>.sock` (0600) for as long as it lives; connection refused means dead.
 * H2  Orders (cancel, send, approve) go to the host that owns the run; no other process touches its worker.
 * H3  While it lives it sets some space aside, for endings that must be recorded on a disk that its own runs filled.
 */
export interface HostOrder {
  readonly kind: 'cancel' | 'send' | 'decide' | 'ping';
  readonly runId?: string;
  readonly force?: boolean;
  readonly interrupt?: boolean;
  readonly body?: string;
  readonly approvalId?: string;
  readonly decision?: 'allow' | 'deny';
}

export type HostReply =
  | { readonly ok: true; readonly value?: unknown }
  | { readonly ok: false; readonly message: string };

export interface HostPost {
  readonly hostId: string;
  stop(): Promise<void>;
}

export interface Hosts {
  /** Starts to listen; `obey` carries out every order. */
  open(hostId: string, obey: (order: HostOrder) => Promise<HostReply>): Promise<HostPost>;
  isAlive(hostId: string): Promise<boolean>;
  /** Hosts whose socket is at least this old; a younger one may be opening. */
  list(olderThanMs: number): string[];
  /** Gives back a part of what a host set aside (H3); false when nothing is left of it. */
  freeReserve(hostId: string): boolean;
  /** Removes what a host that is known to be dead left: its socket, and what it had set aside. */
  forget(hostId: string): void;
  /** Throws HostUnreachableError when there is no answer. */
  order(hostId: string, order: HostOrder): Promise<HostReply>;
}
