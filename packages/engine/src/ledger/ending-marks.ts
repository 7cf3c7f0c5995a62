import { isTerminal } from '@caisson/protocol';
import { canonicalJson } from './canonical-json.ts';
import type { KeyValues } from './contract.ts';
import type { EventRecord } from './event-record.ts';
import type { WorkingRows } from './storage.ts';

/** The terminal event of a run; its hash covers every event before it. */
export interface EndedRun {
  readonly runId: string;
  readonly hash: string;
}

/** What is kept with an ending, as JSON; the ledger does not read it. */
export type MarkEnding = (ending: EndedRun) => unknown;

const SPACE = 'endings';

/** Inside the transaction that records the events. */
export function putEndingMarks(rows: WorkingRows, events: readonly EventRecord[], mark: MarkEnding): void {
  for (const { runId, hash, type } of events)
    if (runId !== null && isTerminal(type)) rows.putValue(SPACE, runId, canonicalJson(mark({ runId, hash })));
}

/** What was kept with the run's ending; undefined when nothing was. */
export function findEndingMark(kv: Pick<KeyValues, 'get'>, runId: string): unknown {
  return kv.get(SPACE, runId);
}
