/**
 * The whole ledger, checked for the doctor: medium, every chain, the order, the rows derived from the events, the chain
 * of the seals, and whether it still has the seal that was noted elsewhere.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError, definedOnly } from '@caisson/protocol';
import { describeLoss, describeVerdict } from '../composition/seal-guard.ts';
import { openUserHeads } from '../composition/user-keys.ts';
import { countUnsent, isAddress } from '../composition/witness-courier.ts';
import type { ResolvedConfig } from '../config/index.ts';
import type { ProbeReport } from '../discovery/index.ts';
import { compareWitness, findChainBreak, walkSeals } from '../evidence/index.ts';
import { openHosts } from '../composition/open-hosts.ts';
import { openLedger, type Ledger, type RunRow, type VerifyProgress } from '../ledger/index.ts';
import { LOSS_REMEDY } from './ledger-loss.ts';
import { isForgotten } from './run-forgotten.ts';
import { ROLLED_BACK_REMEDY } from './verify-here.ts';

const DAMAGED =
  'Nothing was changed. Keep a copy of the file, then restore it from a backup or move it away to start a new ledger; caisson gc keeps the files of its runs until caisson doctor --accept-ledger.';

/** So many runs are in memory at a time. */
const PAGE = 100;

/** Of the first and the last but one only the begin is known. */
export type LedgerStep = Parameters<VerifyProgress>[0] | 'seals';

export interface ExamineLedgerOptions {
  /** Accept the ledger as it is from now on, whatever was noted of it before. */
  readonly accept?: boolean | undefined;
  onProgress?(what: LedgerStep, done: number, total: number): void;
  /** What else is checked while the ledger is open, if its events are sound. */
  also?(ledger: Ledger): Promise<readonly ProbeReport[]>;
}

type Config = Pick<ResolvedConfig, 'stateDir' | 'folders' | 'evidence'>;

/** Never throws for a damaged file: that is its finding. A project without a ledger has nothing to find. */
export async function examineLedger(
  config: Config,
  options: ExamineLedgerOptions = {},
): Promise<readonly ProbeReport[]> {
  const file = join(config.stateDir, 'ledger.db');
  if (!existsSync(file) && !existsSync(`${file}-wal`)) {
    if (options.accept === true) openUserHeads(config).accept(config.stateDir, null);
    return [reportNone(config.stateDir), examineHead(config, null)];
  }
  const { witness } = config.evidence;
  let ledger: Ledger;
  try {
    ledger = openLedger(file);
  } catch (error) {
    return [asFinding('ledger', error)];
  }
  try {
    if (options.accept === true) openUserHeads(config).accept(config.stateDir, ledger);
    const events = await probe('ledger', () => examineEvents(ledger, options.onProgress));
    const head = await probe('ledger-head', () => examineHead(config, ledger));
    if (events.verdict === 'fail') return [events, head]; // its seals cannot be read in order
    return [
      events,
      await examineSeals(config, ledger, options.onProgress),
      head,
      ...(witness === null ? [] : [await probe('witness', () => examineWitness(witness, ledger))]),
      ...((await options.also?.(ledger)) ?? []),
    ];
  } finally {
    await ledger.close();
  }
}

/** Only the file and its events, which verifying one run after the other does not see as a whole. */
export async function examineEventsAlone(
  { stateDir }: Pick<ResolvedConfig, 'stateDir'>,
  onProgress?: ExamineLedgerOptions['onProgress'],
): Promise<ProbeReport> {
  const file = join(stateDir, 'ledger.db');
  if (!existsSync(file) && !existsSync(`${file}-wal`)) return reportNone(stateDir);
  return await probe('ledger', async () => {
    const ledger = openLedger(file);
    try {
      return examineEvents(ledger, onProgress);
    } finally {
      await ledger.close();
    }
  });
}

async function probe(id: string, look: () => ProbeReport | Promise<ProbeReport>): Promise<ProbeReport> {
  try {
    return await look();
  } catch (error) {
    return asFinding(id, error);
  }
}

/** A CaissonError as a finding of the doctor. */
export function asFinding(id: string, error: unknown): ProbeReport {
  if (!(error instanceof CaissonError)) throw error;
  const outcome = OUTCOMES[error.code];
  return {
    id,
    verdict: 'fail',
    detail: error.message,
    remedy: error.remedy ?? DAMAGED,
    ...definedOnly({ outcome }),
  };
}

const OUTCOMES: Readonly<Record<string, NonNullable<ProbeReport['outcome']>>> = {
  LEDGER_CORRUPT: 'tampered',
  LEDGER_TRUNCATED: 'incomplete',
};

/** A store beside it proves that there were runs. */
function reportNone(stateDir: string): ProbeReport {
  const id = 'ledger';
  if (!existsSync(join(stateDir, 'store', 'blobs')))
    return { id, verdict: 'ok', detail: 'there is none yet; the first run makes it' };
  return {
    id,
    verdict: 'fail',
    outcome: 'incomplete',
    detail: `${join(stateDir, 'ledger.db')} is missing, and the store beside it has the files of its runs`,
    remedy: 'Put it back from a backup before the next command, which would begin a new one.',
  };
}

function examineEvents(ledger: Ledger, onProgress: ExamineLedgerOptions['onProgress']): ProbeReport {
  const id = 'ledger';
  const { ok, events, runs, problems, isRebuildable } = ledger.verifyAll(onProgress);
  if (ok) return { id, verdict: 'ok', detail: `${events} events of ${runs} runs, every hash is correct` };
  const detail = problems.join(' ');
  if (isRebuildable)
    return {
      id,
      verdict: 'fail',
      detail,
      remedy: 'Where that does not help, restore the file from a backup.',
      repair: 'caisson doctor --repair derives the rows again from the events.',
    };
  const isCut = problems.every((problem) => /it ends after \d+ of \d+ bytes/.test(problem));
  return { id, verdict: 'fail', outcome: isCut ? 'incomplete' : 'tampered', detail, remedy: DAMAGED };
}

async function examineSeals(
  { stateDir }: Config,
  ledger: Ledger,
  onProgress: ExamineLedgerOptions['onProgress'],
): Promise<ProbeReport> {
  const id = 'seals';
  let count = 0;
  const newest = ledger.findLast('evidence.sealed');
  const numbered = newest?.type === 'evidence.sealed' ? (newest.data.chain?.number ?? 0) : 0;
  const counted = walkSeals(ledger).map((seal) => {
    count += 1;
    onProgress?.('seals', count, Math.max(count, numbered));
    return seal;
  });
  const broken = findChainBreak(counted);
  if (broken !== null) return { id, verdict: 'fail', outcome: 'tampered', detail: broken, remedy: DAMAGED };
  const unsealed = await listUnsealed(stateDir, ledger);
  if (unsealed.length === 0)
    return { id, verdict: 'ok', detail: `${count} seals, each follows the one before it` };
  return {
    id,
    verdict: 'fail',
    outcome: 'unsealed',
    detail: `${unsealed.length} runs have ended without a seal: ${unsealed.slice(0, 5).join(', ')}`,
    findings: unsealed,
    remedy: 'The next command seals them, or says why it cannot: caisson seal',
    repair: 'caisson doctor --repair seals them.',
  };
}

/** A living host still works on it. */
async function listUnsealed(stateDir: string, ledger: Ledger): Promise<string[]> {
  const hosts = openHosts(stateDir, ledger);
  const unsealed: string[] = [];
  for (const { runId, host } of walkUnsealed(ledger))
    if (!isForgotten({ ledger }, runId) && !(await hosts.isAlive(host))) unsealed.push(runId);
  return unsealed;
}

/** A page at a time: without a key for long, they may be many. */
function* walkUnsealed(ledger: Ledger): Generator<RunRow> {
  let page: readonly RunRow[];
  let after: string | undefined;
  do {
    page = ledger.runs({ unsealed: true, limit: PAGE, ...definedOnly({ after }) });
    yield* page;
    after = page.at(-1)?.runId;
  } while (page.length === PAGE);
}

function examineHead(config: Config, ledger: Ledger | null): ProbeReport {
  const heads = openUserHeads(config);
  const verdict = heads.judge(config.stateDir, ledger);
  const file = join(config.stateDir, 'ledger.db');
  const problem = describeVerdict(verdict, file) ?? describeLoss(verdict, file);
  const id = 'ledger-head';
  if (problem === null) {
    const detail =
      'head' in verdict ? `${verdict.head.runId} was noted as the newest and is here` : 'none is noted yet';
    return { id, verdict: 'ok', detail };
  }
  if (verdict.kind === 'rolled-back')
    return { id, verdict: 'fail', outcome: 'tampered', detail: problem, remedy: ROLLED_BACK_REMEDY };
  return { id, verdict: 'warn', detail: problem, remedy: `${LOSS_REMEDY}.` };
}

async function examineWitness(witness: string, ledger: Ledger): Promise<ProbeReport> {
  const id = 'witness';
  if (isAddress(witness)) {
    const unsent = countUnsent(witness, ledger);
    return unsent === 0
      ? { id, verdict: 'ok', detail: `${witness} has every seal` }
      : {
          id,
          verdict: 'warn',
          detail: `${witness} lacks ${unsent} seals; the next seal sends them`,
        };
  }
  if (!existsSync(witness))
    return {
      id,
      verdict: walkSeals(ledger).every(({ seal }) => seal.chain === undefined) ? 'ok' : 'warn',
      detail: `${witness} does not exist; the next seal makes it`,
    };
  const { problem, seals, seen } = await compareWitness(witness, ledger);
  if (problem !== null)
    return { id, verdict: 'fail', outcome: 'tampered', detail: problem, remedy: ROLLED_BACK_REMEDY };
  if (seen === seals) return { id, verdict: 'ok', detail: `${witness} has seen all ${seals} seals` };
  return {
    id,
    verdict: 'warn',
    detail: `${witness} has no line of ${seals - seen} seals; the next seal adds them`,
  };
}
