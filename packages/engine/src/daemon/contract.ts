/**
 * A daemon: one process of a project that stays, carries out runs for others and does what is due.
 *
 *   starting ──lease, socket, timers──► serving ──stop(drain)──► draining ──┐
 *                                          ├──────stop(now), SIGINT────────►stopping ──► gone
 *                                          └──stop(leave), SIGTERM, SIGHUP──► leaving ───► gone
 *
 * DM1  A project has at most one. The lease is taken in one transaction; only the lease of a process that is known to be
 *      dead is replaced, and by exactly one of those that try. A stopped process is alive. A daemon whose lease another
 *      one has accepts nothing, and leaves.
 * DM2  It listens on `runtime/daemon.sock` (0600) from `serving` until its runs have ended. A removed socket is made
 *      again while it has the lease, in the folder of its own ledger and nowhere else.
 * DM3  From `draining` on no run is accepted, and no change that takes longer than one write. A run that was accepted before ends
 *      in its own time, or with its work kept; a change has a moment at the end.
 *      `leaving` stops no running agent: its worker waits for the next daemon, which adopts it (attempt/adopt.ts).
 * DM4  It ends when its ledger is moved, replaced or removed: nothing is written where it was.
 * DM5  The lease is released when every run has ended or is left, and nothing can reach it any more.
 * DM6  Without runs it wakes up at most once a second, unless the watchdog of systemd asks for more.
 */
import type {
  DaemonPhase,
  DaemonStatus,
  FaceOrder,
  FaceStanding,
  ReloadReport,
  StopOrder,
} from '@caisson/protocol';

/** What others may ask a daemon. */
export interface DaemonControl {
  status(): DaemonStatus;
  /** A page for Prometheus. */
  metrics(): Promise<string>;
  /**
   * Begins to end; returns at once. A later order may only be quicker, and comes too late once it is `leaving`: the agents
   * that go on are no longer its own.
   */
  stop(order: StopOrder): void;
  reload(): Promise<ReloadReport>;
  /** Listens on the loopback address, too, and makes a link for one page. */
  openFace(order: FaceOrder): Promise<FaceStanding>;
  closeFace(): Promise<void>;
}

/** What a daemon lets finish, stops and closes. */
export interface DaemonWork {
  /** Everything that was accepted and has not ended. None of them rejects. */
  underWay(): readonly Promise<unknown>[];
  /** Stops what is under way; its work is kept. Resolves when all have ended. */
  shutdown(options: { readonly force: boolean }): Promise<void>;
  /** Leaves running agents to the next daemon, and stops what has no worker yet. Resolves when nothing is under way. */
  leave(): Promise<void>;
  /** Closes everything else (DM5). */
  close(): Promise<void>;
}

export interface DaemonLife {
  phase(): DaemonPhase;
  /** Until when it drains; null when it does not. */
  drainsUntilMs(): number | null;
  stop(order: StopOrder): void;
  /** Kills what has not stopped by itself. */
  force(): void;
  /** Resolves when it is gone. */
  readonly ended: Promise<void>;
}
