import type { DataOf } from '@caisson/protocol';
import type { Ledger, RunRow } from '../ledger/index.ts';

type EventReader = Pick<Ledger, 'read'>;

/** What the ending of a run that is done says of its work. */
interface DoneWork {
  readonly checkPassed?: boolean | undefined;
  readonly hasWork: boolean;
}

/** What was found in a ledger, by run and by its last event: what is recorded never changes. */
const CHECKS = new WeakMap<EventReader, Map<string, DoneWork>>();
const MAX_CHECKS = 10_000;
/** The ending is followed by its seal, and by little else. */
const FIRST_DEPTH = 2;

/** Whether the check of a run's work passed; undefined where there was none, or it is not done. */
export function findCheckPassed(ledger: EventReader, row: RunRow): boolean | undefined {
  return findDoneWork(ledger, row)?.checkPassed;
}

/** The same, and whether the run left work; undefined where it is not done. */
export function findDoneWork(ledger: EventReader, row: RunRow): DoneWork | undefined {
  if (row.status !== 'done') return undefined;
  const known = CHECKS.get(ledger) ?? new Map<string, DoneWork>();
  CHECKS.set(ledger, known);
  const key = `${row.runId} ${row.lastSeq}`;
  const found = known.get(key) ?? readDoneWork(ledger, row);
  if (known.size >= MAX_CHECKS) known.clear();
  known.set(key, found);
  return found;
}

/** From the end on, because every event that is read is checked, and a run can have very many. */
function readDoneWork(ledger: EventReader, { runId, lastSeq }: RunRow): DoneWork {
  for (let depth = FIRST_DEPTH; ; depth *= 4) {
    const after = Math.max(0, lastSeq - depth);
    const finished = ledger.read({ runId, types: ['dispatch.finished'], after }).at(-1);
    if (finished !== undefined) return toDoneWork(finished.data);
    // This version cannot read the ending: a person looks.
    if (after === 0) return { hasWork: true };
  }
}

function toDoneWork({ patchRef, patchMissing, checkPassed }: DataOf<'dispatch.finished'>): DoneWork {
  return { checkPassed, hasWork: patchRef !== undefined || patchMissing !== undefined };
}
