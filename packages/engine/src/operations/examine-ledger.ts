/**
 * The whole ledger, checked for the doctor: medium, every chain, the order, what was derived from the events, the chain
 * of the seals, and whether it still has what was noted of it elsewhere.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/protocol';
import { describeVerdict } from '../composition/seal-chain.ts';
import { openUserHeads } from '../composition/user-keys.ts';
import { countUnsent, isAddress } from '../composition/witness-courier.ts';
import type { ResolvedConfig } from '../config/index.ts';
import type { ProbeReport } from '../discovery/index.ts';
import { findChainBreak, findContradiction, listSeals, parseWitness } from '../evidence/index.ts';
import { openLedger, type Ledger } from '../ledger/index.ts';
import { ROLLED_BACK_REMEDY } from './verify-here.ts';

const DAMAGED =
  'Nothing was changed. Keep a copy of the file, then restore it from a backup or move it away to start a new ledger.';

export interface ExamineLedgerOptions {
  /** Derive the rows again from the events before looking; events are never touched. */
  readonly rebuild?: boolean;
  /** Believe the ledger as it is from now on, whatever was noted of it before. */
  readonly accept?: boolean;
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
    const none = {
      id: 'ledger',
      verdict: 'ok',
      detail: 'there is none yet; the first run makes it',
    } as const;
    return [none, examineHead(config, null)];
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
    const events = probe('ledger', () => examineEvents(ledger, options));
    const head = probe('ledger-head', () => examineHead(config, ledger));
    if (events.verdict === 'fail') return [events, head]; // its seals cannot be read in order
    return [
      events,
      probe('seals', () => examineSeals(ledger)),
      head,
      ...(witness === null ? [] : [probe('witness', () => examineWitness(witness, ledger))]),
    ];
  } finally {
    await ledger.close();
  }
}

function probe(id: string, look: () => ProbeReport): ProbeReport {
  try {
    return look();
  } catch (error) {
    return asFinding(id, error);
  }
}

function asFinding(id: string, error: unknown): ProbeReport {
  if (!(error instanceof CaissonError)) throw error;
  return { id, verdict: 'fail', detail: error.message, remedy: error.remedy ?? DAMAGED };
}

function examineEvents(ledger: Ledger, { rebuild = false }: ExamineLedgerOptions): ProbeReport {
  if (rebuild) ledger.rebuildProjections();
  const { ok, events, runs, problems } = ledger.verifyAll();
  if (!ok) return { id: 'ledger', verdict: 'fail', detail: problems.join(' '), remedy: DAMAGED };
  const derived = rebuild ? ', rows derived again' : '';
  return {
    id: 'ledger',
    verdict: 'ok',
    detail: `${events} events of ${runs} runs, every hash holds${derived}`,
  };
}

function examineSeals(ledger: Ledger): ProbeReport {
  const seals = listSeals(ledger);
  const broken = findChainBreak(seals);
  if (broken !== null) return { id: 'seals', verdict: 'fail', detail: broken, remedy: DAMAGED };
  return { id: 'seals', verdict: 'ok', detail: `${seals.length} seals, each follows the one before it` };
}

function examineHead(config: Config, ledger: Ledger | null): ProbeReport {
  const heads = openUserHeads(config);
  const verdict = heads.judge(config.stateDir, ledger);
  const problem = describeVerdict(verdict, join(config.stateDir, 'ledger.db'));
  const id = 'ledger-head';
  if (problem === null) {
    const detail =
      'head' in verdict ? `${verdict.head.runId} was noted as the newest and is here` : 'none is noted yet';
    return { id, verdict: 'ok', detail };
  }
  if (verdict.kind === 'rolled-back')
    return { id, verdict: 'fail', detail: problem, remedy: ROLLED_BACK_REMEDY };
  return { id, verdict: 'warn', detail: problem, remedy: 'If that was you: caisson doctor --accept-ledger' };
}

function examineWitness(witness: string, ledger: Ledger): ProbeReport {
  const id = 'witness';
  if (isAddress(witness)) {
    const unsent = countUnsent(witness, ledger);
    return unsent === 0
      ? { id, verdict: 'ok', detail: `${witness} has taken every seal` }
      : {
          id,
          verdict: 'warn',
          detail: `${witness} has not taken ${unsent} seals yet; the next seal brings them`,
        };
  }
  const seals = listSeals(ledger).filter(({ seal }) => seal.chain !== undefined);
  if (!existsSync(witness))
    return {
      id,
      verdict: seals.length === 0 ? 'ok' : 'warn',
      detail: `${witness} is not there; the next seal makes it`,
    };
  const lines = parseWitness(readFileSync(witness, 'utf8'));
  const problem = findContradiction(lines, ledger);
  if (problem !== null) return { id, verdict: 'fail', detail: problem, remedy: ROLLED_BACK_REMEDY };
  const seen = new Set(lines.map(({ seal }) => seal));
  const unseen = seals.filter(({ seal }) => !seen.has(seal.envelopeRef)).length;
  if (unseen === 0) return { id, verdict: 'ok', detail: `${witness} has seen all ${seals.length} seals` };
  return {
    id,
    verdict: 'warn',
    detail: `${witness} has no line of ${unseen} seals; the next seal brings them`,
  };
}
