/**
 * Signs one seal after the other, across all processes: each names the one before it. The lock covers the signature and
 * its record alone; what can be done before or after it is.
 */
import { join } from 'node:path';
import { makeFolder, withFileLock } from '@caisson/ground';
import {
  findLostSeal,
  findSeal,
  nextLink,
  parseStoredEnvelope,
  signSeal,
  TamperedError,
  type HeadVerdict,
  type PreparedSeal,
  type RecordedSeal,
  type Seal,
  type SigningKey,
} from '../evidence/index.ts';
import type { RunRecord } from '../ledger/index.ts';
import type { SealerOptions, SealOptions } from './seal-evidence.ts';
import { openUserHeads } from './user-keys.ts';
import { createWitnessCourier } from './witness-courier.ts';

/** An agent may ask its user before each signature. */
const TURN_MS = 120_000;

export interface SealChain {
  /** The run's seal: the one that it has, or a new one at the end of the chain. */
  add(runId: string, parts: SealParts, options?: SealOptions): Promise<Seal>;
  settle(waitMs: number): Promise<void>;
}

interface SealParts {
  readonly prepared: PreparedSeal;
  readonly key: SigningKey;
  readonly record: RunRecord;
  readonly attempt: number;
}

export function createSealChain(options: SealerOptions): SealChain {
  const { ledger, store, config, warn } = options;
  const heads = openUserHeads(config);
  const courier = createWitnessCourier(config.evidence.witness, ledger, warn);
  const runtime = join(config.stateDir, 'runtime');
  const append = async (
    runId: string,
    { prepared, key, record, attempt }: SealParts,
    isLate: boolean,
  ): Promise<Seal> => {
    const known = findSeal(ledger.read({ runId }));
    if (known !== null)
      return { envelope: parseStoredEnvelope(await store.getBlob(known.envelopeRef)), sealRef: known };
    if (isLate) refuseAnother(runId);
    const seal = await signSeal(prepared, key, nextLink(ledger));
    const place = { attempt, id: `evidence.sealed:${runId}` };
    const { at } = await record.append('evidence.sealed', { ...seal.sealRef }, place);
    const newest = { runId, at, seal: seal.sealRef };
    const problem = advanceHead(newest);
    if (problem !== null)
      await record.append('warning', { source: 'evidence', message: problem }, { attempt });
    courier?.tell(newest);
    return seal;
  };
  const refuseAnother = (runId: string): void => {
    const verdict = heads.judge(config.stateDir, ledger);
    const isNoted = verdict.kind === 'rolled-back' && verdict.head.runId === runId;
    const lost = isNoted ? null : findLostSeal(ledger, runId);
    if (!isNoted && lost === null) return;
    const witness = lost === null ? `the note in ${heads.folder}` : `the seal of ${lost.runId}`;
    throw new TamperedError(`${runId} had a seal, as ${witness} says, and ${ledger.file} has lost it`, {
      remedy: 'Restore the ledger from a backup.',
    });
  };
  const advanceHead = (newest: RecordedSeal): string | null => {
    try {
      return describeVerdict(heads.advance(config.stateDir, ledger, newest), ledger.file);
    } catch (error) {
      return `the newest seal could not be noted in ${heads.folder}: ${(error as Error).message}`;
    }
  };
  return {
    async add(runId, parts, { waitMs = TURN_MS, isLate = false } = {}) {
      makeFolder(runtime);
      return await withFileLock(join(runtime, 'seal.lock'), () => append(runId, parts, isLate), { waitMs });
    },
    settle: async (waitMs) => courier?.settle(waitMs),
  };
}

/** What is wrong, in words; null when the ledger has what it had. */
export function describeVerdict(verdict: HeadVerdict, file: string): string | null {
  if (verdict.kind === 'unreadable') return `what was noted as the newest seal of ${file} cannot be read`;
  if (!('head' in verdict) || verdict.kind === 'ok') return null;
  const { number, runId, at } = verdict.head;
  return verdict.kind === 'rolled-back'
    ? `${file} has lost its newest runs: seal ${number} (${runId}, ${at}) was in it and is not any more. Runs were removed, or an older copy was put in its place`
    : `another ledger was in the place of ${file}, with seal ${number} (${runId}, ${at}) as its newest`;
}
