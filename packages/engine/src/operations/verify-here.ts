/** Checks a run of this project, and whether the ledger has lost anything. */
import { existsSync } from 'node:fs';
import { CaissonError, definedOnly } from '@caisson/protocol';
import { describeVerdict } from '../composition/seal-guard.ts';
import { openUserHeads, openUserKeyring } from '../composition/user-keys.ts';
import { isAddress } from '../composition/witness-courier.ts';
import { RunNotFoundError } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import {
  exportRun,
  TamperedError,
  verifyRun,
  watchWitness,
  type Exported,
  type LedgerCheck,
  type Verification,
  type VerifyOptions,
  type WatchedWitness,
} from '../evidence/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { resolveRunId } from './resolve-run-id.ts';
import { sealIfMissing } from './seal-ended.ts';
import { requireRemembered } from './run-forgotten.ts';

/** The ledger has lost runs. */
export class LedgerRolledBackError extends CaissonError {
  readonly code = 'LEDGER_ROLLED_BACK';

  constructor(message: string) {
    super(message, { remedy: ROLLED_BACK_REMEDY });
  }
}

export const ROLLED_BACK_REMEDY =
  'Restore the ledger from a backup. If you removed the runs yourself: caisson doctor --accept-ledger';

export async function verifyHere(
  engine: Engine,
  given: string,
  how: Partial<VerifyOptions>,
): Promise<Verification> {
  const { ledger, store, config } = engine;
  const runId = requireRemembered(engine, findRun(engine, given));
  const { witness } = how;
  const unsealedBy = await sealIfMissing(engine, runId);
  const trustedKeys =
    how.trustedKeys ?? (unsealedBy === null ? await openUserKeyring(config).trustedKeys() : []);
  const own = witness === undefined ? config.evidence.witness : null;
  const checks = [checkHead(engine), ...(own === null ? [] : [checkOwnWitness(own, ledger)])];
  const options = {
    trustedKeys,
    ...definedOnly({ witness }),
    ...(unsealedBy === null ? {} : { unsealedBy }),
  };
  return await verifyRun(ledger, store, runId, options, checks);
}

/** Writes one file that another person can check, after sealing the run if its seal is missing. */
export async function exportHere(engine: Engine, runId: string, to: string): Promise<Exported> {
  const { ledger, store } = engine;
  requireRemembered(engine, runId);
  const unsealedBy = await sealIfMissing(engine, runId);
  if (unsealedBy !== null) throw unsealedBy;
  await refuseTampered(engine, runId);
  return await exportRun({ ledger, store, runId, to });
}

/** A run that this ledger contradicts is not exported. The export itself reports what is only missing. */
async function refuseTampered(engine: Engine, runId: string): Promise<void> {
  const { ledger, store } = engine;
  const { outcome, checks } = await verifyRun(ledger, store, runId, { trustedKeys: [] }, [checkHead(engine)]);
  if (outcome !== 'tampered' && outcome !== 'bad-signature') return;
  const failed = checks.filter(({ id, verdict }) => verdict === 'failed' && id !== 'key');
  const [first] = failed;
  throw new TamperedError(`run ${runId} is tampered: ${first?.id}: ${first?.detail}`, {
    remedy: `See everything that is wrong with it: caisson verify ${runId}`,
  });
}

/** An unknown run may be one that was removed. */
function findRun(engine: Engine, given: string): string {
  try {
    return resolveRunId(engine.ledger, given);
  } catch (error) {
    if (error instanceof RunNotFoundError) judgeHead(engine);
    throw error;
  }
}

function checkHead(engine: Engine): LedgerCheck {
  return { id: 'ledger-head', run: () => judgeHead(engine) };
}

function judgeHead({ config, ledger }: Engine): string | null {
  const verdict = openUserHeads(config).judge(config.stateDir, ledger);
  const problem = describeVerdict(verdict, ledger.file);
  if (verdict.kind === 'rolled-back') throw new LedgerRolledBackError(problem ?? '');
  return verdict.kind === 'ok' ? `the newest seal that was noted (${verdict.head.runId}) is here` : null;
}

/** Of each ledger that is open here: `verify --all` checks one run after the other. */
const watched = new WeakMap<Ledger, Map<string, WatchedWitness>>();

function checkOwnWitness(witness: string, ledger: Ledger): LedgerCheck {
  return {
    id: 'witness',
    async run(envelope) {
      if (isAddress(witness) || !existsSync(witness)) return null;
      const lines = watch(witness, ledger);
      const seen = envelope === null ? null : await lines.describe(envelope);
      const problem = await lines.findContradiction();
      if (problem !== null) throw new LedgerRolledBackError(problem);
      return seen;
    },
  };
}

function watch(witness: string, ledger: Ledger): WatchedWitness {
  const files = watched.get(ledger) ?? new Map<string, WatchedWitness>();
  watched.set(ledger, files);
  const known = files.get(witness) ?? watchWitness(witness, ledger);
  files.set(witness, known);
  return known;
}
