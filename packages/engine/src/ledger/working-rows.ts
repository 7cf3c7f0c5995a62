/** Rows that are no events: who may run now, who holds what, and small values that processes share. */

/** The pool of a run that names none. */
export const DEFAULT_POOL = 'runs';

export interface SlotRow {
  readonly runId: string;
  readonly pool: string;
  readonly hostId: string;
}

export interface HoldRow {
  readonly name: string;
  readonly holder: string;
  readonly hostId: string;
}

/** The rows of a dead host, now free. The caller decides about the runs. */
export interface Reclaimed {
  readonly slots: readonly string[];
  readonly holds: readonly string[];
}

/**
 * Working rows, not events: which runs may run now, and who holds what. Every call is one immediate transaction. The
 * queue has no rows: its runs are those that were accepted for the pool, have had no attempt and have not ended, by the
 * events, without those that have a slot by now.
 */
export interface Leases {
  /**
   * Takes a slot if fewer than `limit` are live and this run heads the queue at `nowMs` (see turn.ts). A run with a
   * slot leaves the queue; a second call returns `taken`.
   */
  tryTake(request: {
    pool: string;
    runId: string;
    hostId: string;
    limit: number;
    nowMs: number;
  }): 'taken' | 'full' | 'not-head';
  /** Releases the slot, once the run has ended; a run that could still start would be in the queue again. */
  release(runId: string): boolean;
  listSlots(pool?: string): SlotRow[];
  /** The waiting runs at `nowMs`, next one first. */
  listQueue(pool: string, nowMs: number): SlotRow[];
  /** The one that would be next at `nowMs`; null when none waits. Costs the same in any queue. */
  findHead(pool: string, nowMs: number): string | null;
  queueLength(pool: string): number;
  /** The place of a waiting run at `nowMs`, counted from one by the index, not by reading the queue; 0 if it does not wait. */
  positionOf(pool: string, runId: string, nowMs: number): number;
  /** Acquires the named exclusive lease; true also if `holder` already has it. */
  tryHold(name: string, holder: string, hostId?: string): boolean;
  /** Releases it; false when `holder` did not have it. */
  free(name: string, holder: string): boolean;
  holderOf(name: string): HoldRow | null;
  listHolds(): HoldRow[];
  /** A run that is under way has its slot, and the leases that it holds itself, by this host from now on. */
  transfer(runId: string, hostId: string, pool: string): void;
  /** Releases everything a host had. Only for a host that is known to be dead. */
  reclaim(hostId: string): Reclaimed;
  /** Every host that still has a row. */
  hosts(): string[];
}

/** Small working rows that several processes share. Values are JSON. */
export interface KeyValues {
  get(space: string, key: string): unknown;
  set(space: string, key: string, value: unknown): void;
  delete(space: string, key: string): boolean;
  list(space: string): { key: string; value: unknown }[];
}
