/** What must be true before a run gets its seal, if the seal is not made right after its ending by the same process. */
import {
  findChainBreakIn,
  refuseLostSeal,
  SealRefusedError,
  sealEventId,
  TamperedError,
  UnmarkedEndingError,
  type HeadVerdict,
  type LedgerHead,
  type LedgerHeads,
} from '../evidence/index.ts';
import type { StoredEvent } from '../ledger/index.ts';
import type { EndingVerdict } from './ending-marks.ts';
import type { SealerOptions, SealOptions } from './seal-evidence.ts';

const RESTORE = { remedy: 'Restore the ledger from a backup.' };
const ACCEPT = 'If that was you: caisson doctor --accept-ledger';

/**
 * Throws TamperedError for a run that was changed after its ending or has lost a seal, and in a ledger that has lost
 * runs; SealRefusedError when it cannot be known.
 */
export function createSealGuard(
  { ledger, endings, config }: Pick<SealerOptions, 'ledger' | 'endings' | 'config'>,
  heads: LedgerHeads,
): (runId: string, ending: StoredEvent, how: SealOptions) => Promise<void> {
  let isChainWhole = false; // checked once: it reads every seal
  const refuseAnother = (runId: string, verdict: HeadVerdict): void => {
    if (verdict.kind === 'rolled-back' && verdict.head.runId === runId)
      throw new TamperedError(
        `${runId} had a seal, as the note in ${heads.folder} says, and ${ledger.file} has lost it`,
        RESTORE,
      );
    const own = ledger.find(sealEventId(runId));
    refuseLostSeal(ledger, runId, own === null ? [] : [own]);
  };
  /** A folder that was begun anew has a secret of its own: what it marked was recorded in it. */
  const isBegunAnew = (verdict: HeadVerdict): boolean =>
    verdict.kind === 'replaced' && ![undefined, endings.state].includes(verdict.head.state);
  const demandWhole = async (verdict: HeadVerdict, mark: EndingVerdict): Promise<void> => {
    const problem = describeVerdict(verdict, ledger.file);
    if (verdict.kind === 'rolled-back') throw new TamperedError(problem ?? '', { remedy: ACCEPT });
    if (problem !== null && !(mark === 'ours' && isBegunAnew(verdict)))
      throw new SealRefusedError(problem, { remedy: ACCEPT });
    const broken = isChainWhole ? null : await findChainBreakIn(ledger);
    if (broken !== null) throw new TamperedError(broken, RESTORE);
    isChainWhole = true;
  };
  return async (runId, ending, { isLate = false, acceptsUnmarked = false }) => {
    const verdict = isLate ? heads.judge(config.stateDir, ledger) : null;
    if (verdict !== null) refuseAnother(runId, verdict);
    const mark = endings.judge(ledger, { runId, hash: ending.hash });
    if (mark === 'forged')
      throw new TamperedError(`${runId} was changed after its ending was recorded`, RESTORE);
    if (verdict !== null) await demandWhole(verdict, mark);
    if (mark === 'unmarked' && !acceptsUnmarked)
      throw new UnmarkedEndingError(
        'nothing shows that its ending was recorded in this state folder: an older version recorded it, or it was forged',
        { remedy: `If it is what you expect (caisson show ${runId}): caisson seal ${runId}` },
      );
  };
}

/** What is wrong with this ledger, in words; null when it has what it had. */
export function describeVerdict(verdict: HeadVerdict, file: string): string | null {
  if (verdict.kind === 'unreadable') return `the note of the newest seal of ${file} cannot be read`;
  if (!('head' in verdict) || verdict.kind === 'ok') return null;
  if (verdict.kind === 'replaced') return describeMissing(verdict.head, file);
  const { number, runId, at } = verdict.head;
  return `${file} has lost its newest runs: it had seal ${number} (${runId}, ${at}) and does not any more. Runs were removed, or an older copy replaced it`;
}

/**
 * Why the store may have files of runs that this ledger does not know, in words: it has lost runs, or another ledger was
 * in its place that nobody has given up. Null when it does not.
 */
export function describeLoss(verdict: HeadVerdict, file: string): string | null {
  if (!('head' in verdict)) return null;
  const [missing] = verdict.missing;
  if (verdict.kind === 'ok') return missing === undefined ? null : describeMissing(missing, file);
  return describeVerdict(verdict, file);
}

function describeMissing({ number, runId, at }: LedgerHead, file: string): string {
  return `another ledger was in the place of ${file}, with seal ${number} (${runId}, ${at}) as its newest`;
}
