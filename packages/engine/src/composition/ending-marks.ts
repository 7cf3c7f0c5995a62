/**
 * Distinguishes an ending that we recorded from one that was forged in the ledger: in the same transaction a mark is
 * written that needs the secret outside of the state folder. The hash of an ending covers the run up to it.
 */
import * as z from 'zod/mini';
import {
  findEndingMark,
  isEndingSigned,
  type EndedRun,
  type EndingSigner,
  type Ledger,
} from '../ledger/index.ts';
import type { OwnState } from '../trust/index.ts';

/** `unmarked`: recorded by an older version, or in a folder of which this one is a copy. */
export type EndingVerdict = 'ours' | 'unmarked' | 'forged';

export interface EndingMarks {
  /** The id of the state folder that the marks are of. */
  readonly state: string;
  /** What the ledger signs its endings with. */
  readonly signer: EndingSigner;
  judge(ledger: Pick<Ledger, 'kv'>, ending: EndedRun): EndingVerdict;
}

const Mark = z.object({ state: z.string(), signature: z.string() });

export function createEndingMarks({ id, secret }: Pick<OwnState, 'id' | 'secret'>): EndingMarks {
  const signer = { state: id, secret };
  return {
    state: id,
    signer,
    judge({ kv }, ending) {
      const found = findEndingMark(kv, ending.runId);
      if (found === undefined) return 'unmarked';
      const mark = Mark.safeParse(found).data;
      if (mark !== undefined && mark.state !== id) return 'unmarked';
      return mark !== undefined && isEndingSigned(signer, ending, mark.signature) ? 'ours' : 'forged';
    },
  };
}
