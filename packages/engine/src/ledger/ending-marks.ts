import { createStamp } from '@caisson/ground';
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

/** What signs the mark of each ending. Plain data: the thread that commits needs it, too. */
export interface EndingSigner {
  /** The id of the state folder that the marks are of. */
  readonly state: string;
  readonly secret: Uint8Array;
}

const SPACE = 'endings';
const PURPOSE = 'ending';

/** Inside the transaction that records the events. */
export function putEndingMarks(
  rows: WorkingRows,
  events: readonly EventRecord[],
  signer: EndingSigner,
): void {
  for (const { runId, hash, type } of events) {
    if (runId === null || !isTerminal(type)) continue;
    const signature = createStamp(signer.secret).sign(PURPOSE, describe({ runId, hash }));
    rows.putValue(SPACE, runId, canonicalJson({ state: signer.state, signature }));
  }
}

/** What was kept with the run's ending; undefined when nothing was. */
export function findEndingMark(kv: Pick<KeyValues, 'get'>, runId: string): unknown {
  return kv.get(SPACE, runId);
}

/** Whether that is the signature of this ending. */
export function isEndingSigned(signer: EndingSigner, ending: EndedRun, signature: string): boolean {
  return createStamp(signer.secret).isSigned(PURPOSE, describe(ending), signature);
}

function describe({ runId, hash }: EndedRun): string {
  return `${runId} ${hash}`;
}
