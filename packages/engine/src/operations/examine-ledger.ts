/** The whole ledger, checked for the doctor: medium, every chain, the order, and what was derived from the events. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/protocol';
import type { ProbeReport } from '../discovery/index.ts';
import { openLedger } from '../ledger/index.ts';

const ID = 'ledger';
const DAMAGED =
  'Nothing was changed. Keep a copy of the file, then restore it from a backup or move it away to start a new ledger.';

export interface ExamineLedgerOptions {
  /** Derive the rows again from the events before looking; events are never touched. */
  readonly rebuild?: boolean;
}

/** Never throws for a damaged file: that is its finding. A project without a ledger has nothing to find. */
export async function examineLedger(
  stateDir: string,
  options: ExamineLedgerOptions = {},
): Promise<ProbeReport> {
  const file = join(stateDir, 'ledger.db');
  if (!existsSync(file) && !existsSync(`${file}-wal`))
    return { id: ID, verdict: 'ok', detail: 'there is none yet; the first run makes it' };
  try {
    return await examine(file, options);
  } catch (error) {
    if (!(error instanceof CaissonError)) throw error;
    return { id: ID, verdict: 'fail', detail: error.message, remedy: error.remedy ?? DAMAGED };
  }
}

async function examine(file: string, { rebuild = false }: ExamineLedgerOptions): Promise<ProbeReport> {
  const ledger = openLedger(file);
  try {
    if (rebuild) ledger.rebuildProjections();
    const { ok, events, runs, problems } = ledger.verifyAll();
    if (!ok) return { id: ID, verdict: 'fail', detail: problems.join(' '), remedy: DAMAGED };
    const derived = rebuild ? ', rows derived again' : '';
    return { id: ID, verdict: 'ok', detail: `${events} events of ${runs} runs, every hash holds${derived}` };
  } finally {
    await ledger.close();
  }
}
