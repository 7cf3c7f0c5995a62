/**
 * Signs one seal after the other, across all processes: each names the one before it. The lock covers only the
 * signature and its record.
 */
import { join } from 'node:path';
import { makeFolder, shareTurn, withFileLock } from '@caisson/ground';
import {
  findSealAlone,
  nextLink,
  parseStoredEnvelope,
  sealEventId,
  signSeal,
  type PreparedSeal,
  type RecordedSeal,
  type Seal,
  type SigningKey,
} from '../evidence/index.ts';
import type { RunRecord, StoredEvent } from '../ledger/index.ts';
import type { SealerOptions, SealOptions } from './seal-evidence.ts';
import { createSealGuard, describeVerdict } from './seal-guard.ts';
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
  readonly ending: StoredEvent;
}

export function createSealChain(options: SealerOptions): SealChain {
  const { ledger, store, config, endings, warn } = options;
  const heads = openUserHeads(config);
  const courier = createWitnessCourier(config.evidence.witness, ledger, warn);
  const runtime = join(config.stateDir, 'runtime');
  const demandSealable = createSealGuard(options, heads);
  const append = async (
    runId: string,
    { prepared, key, record, ending }: SealParts,
    how: SealOptions,
  ): Promise<Seal> => {
    const known = findSealAlone(ledger, runId); // the run itself may be long, and others wait for the lock
    if (known !== null)
      return { envelope: parseStoredEnvelope(await store.getBlob(known.envelopeRef)), sealRef: known };
    await demandSealable(runId, ending, how);
    const { attempt } = ending;
    await shareTurn();
    const seal = await signSeal(prepared, key, nextLink(ledger));
    const place = { attempt, id: sealEventId(runId) };
    const { at } = await record.append('evidence.sealed', { ...seal.sealRef }, place);
    const newest = { runId, at, seal: seal.sealRef };
    await shareTurn();
    const problem = advanceHead(newest);
    if (problem !== null)
      await record.append('warning', { source: 'evidence', message: problem }, { attempt });
    courier?.send(newest);
    return seal;
  };
  const advanceHead = (newest: RecordedSeal): string | null => {
    try {
      return describeVerdict(heads.advance(config.stateDir, ledger, newest, endings.state), ledger.file);
    } catch (error) {
      return `the newest seal could not be noted in ${heads.folder}: ${(error as Error).message}`;
    }
  };
  return {
    async add(runId, parts, how = {}) {
      const { waitMs = TURN_MS } = how;
      makeFolder(runtime);
      return await withFileLock(join(runtime, 'seal.lock'), () => append(runId, parts, how), { waitMs });
    },
    settle: async (waitMs) => courier?.settle(waitMs),
  };
}
