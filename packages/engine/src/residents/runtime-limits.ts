import type { WindowLimit } from './sliding-window.ts';

export interface RuntimeLimits {
  readonly crashes: WindowLimit;
  /** Between the end of a worker that crashed and the next start. */
  readonly respawnMs: number;
  /** From the start to `ready`. The worker has a shorter limit of its own; this one holds when the worker does not. */
  readonly readyMs: number;
  /** How often a worker reports that it lives, and how many reports may be missing. */
  readonly beatMs: number;
  readonly missedBeats: number;
  /** A worker that is not kept ends after so long without work. */
  readonly idleMs: number;
  /** For what is under way when a worker is drained or replaced. */
  readonly drainMs: number;
  /** Beyond a limit that the worker enforces itself, before the host does. */
  readonly slackMs: number;
}

export const DEFAULT_LIMITS: RuntimeLimits = {
  crashes: { limit: 5, windowMs: 60_000 },
  respawnMs: 1000,
  readyMs: 35_000,
  beatMs: 5000,
  missedBeats: 3,
  idleMs: 10_000,
  drainMs: 60_000,
  slackMs: 500,
};
