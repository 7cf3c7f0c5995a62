/**
 * Distinguishes an ending that we recorded from one that was forged in the ledger: in the same transaction a mark is
 * written that needs the secret outside of the state folder. The hash of an ending covers the run up to it.
 */
import * as z from 'zod/mini';
import { findEndingMark, type EndedRun, type Ledger } from '../ledger/index.ts';
import type { OwnState } from '../trust/index.ts';

/** `unmarked`: recorded by an older version, or in a folder of which this one is a copy. */
export type EndingVerdict = 'ours' | 'unmarked' | 'forged';

export interface EndingMarks {
  /** The id of the state folder that the marks are of. */
  readonly state: string;
  mark(ending: EndedRun): unknown;
  judge(ledger: Pick<Ledger, 'kv'>, ending: EndedRun): EndingVerdict;
}

const PURPOSE = 'ending';
const Mark = z.object({ state: z.string(), signature: z.string() });

export function createEndingMarks({ id, stamp }: Pick<OwnState, 'id' | 'stamp'>): EndingMarks {
  const describe = ({ runId, hash }: EndedRun): string => `${runId} ${hash}`;
  return {
    state: id,
    mark: (ending) => ({ state: id, signature: stamp.sign(PURPOSE, describe(ending)) }),
    judge({ kv }, ending) {
      const found = findEndingMark(kv, ending.runId);
      if (found === undefined) return 'unmarked';
      const mark = Mark.safeParse(found).data;
      if (mark !== undefined && mark.state !== id) return 'unmarked';
      return mark !== undefined && stamp.isSigned(PURPOSE, describe(ending), mark.signature)
        ? 'ours'
        : 'forged';
    },
  };
}
