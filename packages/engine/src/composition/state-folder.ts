/** The ledger of our state folder, and proof that it is the one we made there. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createStamp } from '@caisson/ground';
import { readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import { findLivingDaemon, LEASE_ROW, LedgerInUseError } from '../daemon/index.ts';
import { createMemoryLedger, openLedger, type Ledger } from '../ledger/index.ts';
import { findStateFolder, openStateFolder, StateFolderRefused, type OwnState } from '../trust/index.ts';
import { bundlePath } from './bundle-path.ts';
import { createEndingMarks, type EndingMarks } from './ending-marks.ts';

const SPACE = 'state';
const KEY = 'signature';

export interface OpenedState {
  readonly state: Pick<OwnState, 'id' | 'stamp'>;
  /** False: the project has no state folder, and nothing may be written into it. */
  readonly hasFolder: boolean;
  readonly ledger: Ledger;
  readonly endings: EndingMarks;
}

export interface StateOptions {
  readonly isMade: boolean;
  /** Others wait for its event loop: it commits nothing there, and never waits long there. */
  readonly isDaemon?: boolean | undefined;
}

/** A client takes a daemon that says nothing for three seconds for a silent one. */
const OF_DAEMON = { callsBeforeThread: 0, blocksMs: 1000 } as const;

/**
 * Opens both, and makes them if `isMade`; otherwise a project without a state folder is one in which nothing has happened.
 * Throws StateFolderRefused for a folder, or a ledger in it, that is not ours.
 */
export function openState(config: ResolvedConfig, { isMade, isDaemon = false }: StateOptions): OpenedState {
  const state = isMade ? openStateFolder(config) : findStateFolder(config);
  if (state === null) return openNothing();
  const file = join(config.stateDir, 'ledger.db');
  const endings = createEndingMarks(state);
  const ledger = openLedger(file, {
    patienceMs: patienceMs(readHostEnvironment()),
    beforeMigration: (read) => demandNoDaemon(file, read(LEASE_ROW.space, LEASE_ROW.key)),
    endings: endings.signer,
    threadEntry: bundlePath('ledger-thread.mjs'),
    ...(isDaemon ? OF_DAEMON : {}),
  });
  try {
    demandOwnLedger(ledger, state, file);
  } catch (error) {
    void ledger.close();
    throw error;
  }
  return { state, hasFolder: true, ledger, endings };
}

/** An older daemon would go on writing rows without what the newer form has, and could not open the file again. */
function demandNoDaemon(file: string, lease: unknown): void {
  const daemon = findLivingDaemon(lease);
  if (daemon !== null) throw new LedgerInUseError(file, daemon);
}

function openNothing(): OpenedState {
  const secret = randomBytes(32);
  const state = { id: '', stamp: createStamp(secret), secret };
  return { state, hasFolder: false, ledger: createMemoryLedger(), endings: createEndingMarks(state) };
}

/** A replaced file has no signature, or that of another folder. */
function demandOwnLedger(ledger: Ledger, state: OwnState, file: string): void {
  const given = ledger.kv.get(SPACE, KEY);
  const isOurs = typeof given === 'string' && state.stamp.isSigned('ledger', state.id, given);
  if (!isOurs) {
    const isNew = given === undefined && isUnused(ledger);
    if (!isNew && !state.adoptsLedger)
      throw new StateFolderRefused(
        'foreign-ledger',
        `the ledger ${file} is not the one that Caisson made in this folder.`,
        'Put back the one that was there, or move it away to start a new one.',
      );
    ledger.kv.set(SPACE, KEY, state.stamp.sign('ledger', state.id));
  }
  if (state.adoptsLedger) state.ledgerIsOurs();
}

/** No event, no run, and nothing left to do. */
function isUnused(ledger: Ledger): boolean {
  const isEmpty = ledger.read({ limit: 1 }).length + ledger.runs({ limit: 1 }).length === 0;
  const left = ['callback-endpoints', 'callback-outbox'].map((space) => ledger.kv.list(space).length);
  return isEmpty && left.every((count) => count === 0) && ledger.leases.hosts().length === 0;
}

/** Tests may wait less for a locked ledger; others use the ledger's own time. */
function patienceMs(env: Readonly<Record<string, string | undefined>>): number | undefined {
  const asked = Number(env['CAISSON_LEDGER_PATIENCE_MS']);
  return Number.isInteger(asked) && asked >= 50 ? asked : undefined;
}
