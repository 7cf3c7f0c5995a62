// Which waiting run gets the next slot. Every 30 s of waiting raise a run by one priority step, little by little, until
// it has the first; among equals the one accepted first is next. So after nine steps at most no later run passes it.
// All of it follows from the ledger and the wall clock, and every host computes the same order.

/** A run that waits. */
export interface WaitingRow {
  readonly runId: string;
  readonly hostId: string;
  /** The requested one: 1 is first, 10 is last. */
  readonly priority: number;
  readonly acceptedOffset: number;
  readonly acceptedAt: string;
}

const STEP_MS = 30_000;
const FIRST_PRIORITY = 1;

/** Compares two waiting runs at `nowMs` of the wall clock: the next one first. */
export function byTurn(nowMs: number): (a: WaitingRow, b: WaitingRow) => number {
  return (a, b) => raised(a, nowMs) - raised(b, nowMs) || a.acceptedOffset - b.acceptedOffset;
}

/** A clock that was set back changes nothing. */
function raised({ priority, acceptedAt }: WaitingRow, nowMs: number): number {
  const waitedMs = Math.max(0, nowMs - Date.parse(acceptedAt));
  return Math.max(FIRST_PRIORITY, priority - waitedMs / STEP_MS);
}
