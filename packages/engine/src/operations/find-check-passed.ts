import type { Ledger, RunRow } from '../ledger/index.ts';

type EventReader = Pick<Ledger, 'read'>;

/** What was found in a ledger, by run and by its last event: what is recorded never changes. */
const CHECKS = new WeakMap<EventReader, Map<string, boolean | undefined>>();
const MAX_CHECKS = 10_000;
/** The ending is followed by its seal, and by little else. */
const FIRST_DEPTH = 2;

/** Whether the check of a run's work passed; undefined where there was none, or it is not done. */
export function findCheckPassed(ledger: EventReader, row: RunRow): boolean | undefined {
  if (row.status !== 'done') return undefined;
  const known = CHECKS.get(ledger) ?? new Map<string, boolean | undefined>();
  CHECKS.set(ledger, known);
  const key = `${row.runId} ${row.lastSeq}`;
  if (!known.has(key)) {
    if (known.size >= MAX_CHECKS) known.clear();
    known.set(key, readCheckPassed(ledger, row));
  }
  return known.get(key);
}

/** From the end on, because every event that is read is checked, and a run can have very many. */
function readCheckPassed(ledger: EventReader, { runId, lastSeq }: RunRow): boolean | undefined {
  for (let depth = FIRST_DEPTH; ; depth *= 4) {
    const after = Math.max(0, lastSeq - depth);
    const finished = ledger.read({ runId, types: ['dispatch.finished'], after }).at(-1);
    if (finished !== undefined || after === 0) return finished?.data.checkPassed;
  }
}
