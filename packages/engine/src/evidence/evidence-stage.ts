/** A real sealed run in a temporary folder, for this room's tests and the bench. */
import { definedOnly, type EventType } from '@caisson/protocol';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createMemoryLedger, openLedger, type Ledger, type NewEvent } from '../ledger/index.ts';
import { openLocalStore, type Store } from '../store/index.ts';
import type { Artefact, SealRef, SigningKey } from './contract.ts';
import { openKeyring, type Keyring } from './keys.ts';
import type { EvidenceManifest } from './manifest.ts';
import { sealEventId } from './find-seal.ts';
import { nextLink } from './seal-chain.ts';
import { prepareSeal, signSeal } from './seal.ts';

export const STAGE_RUN = 'run_0123456789abcdefghjk';
const AT = '2026-01-02T03:04:05.678Z';
const ZERO = '0'.repeat(64);

const grant: EvidenceManifest['policy']['grant'] = {
  mode: 'auto-edit',
  read: [],
  write: [],
  hosts: [],
  tools: [],
  limits: {},
  budget: {},
  depth: 2,
  sandbox: 'bwrap',
};

export interface Stage {
  readonly folder: string;
  readonly ledger: Ledger;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly seal: SealRef;
  readonly artefacts: readonly Artefact[];
  close(): Promise<void>;
}

export interface StageOptions {
  readonly fillers?: number;
  readonly withResult?: boolean;
  readonly inMemory?: boolean;
  /** False: as the first versions sealed. */
  readonly isChained?: boolean;
  /** Signs instead of the keyring's own. */
  readonly key?: SigningKey;
}

/** Accepts, fills and ends a run in a real ledger and store, and seals it. */
export async function stageSealedRun(options: StageOptions = {}): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'caisson-evidence-'));
  const ledger = options.inMemory === true ? createMemoryLedger() : openLedger(join(folder, 'ledger.db'));
  const store = openLocalStore(join(folder, 'store'));
  const keyring = openKeyring(join(folder, 'keys'));
  const artefacts = options.withResult === false ? [] : await putArtefacts(store);
  const resultBytes =
    options.withResult === false
      ? null
      : Buffer.from(JSON.stringify({ schemaVersion: 1, runId: STAGE_RUN, status: 'finished' }));
  const resultRef = resultBytes === null ? undefined : (await store.putBlob(resultBytes)).digest;
  await ledger.append(listEvents(options.fillers ?? 3, resultRef));
  const events = ledger.read({ runId: STAGE_RUN });
  const key = options.key ?? (await keyring.getSigningKey());
  const prepared = await prepareSeal({
    store,
    runId: STAGE_RUN,
    events,
    manifest: createStageManifest(),
    resultBytes,
    artefacts,
  });
  const { sealRef } = await signSeal(prepared, key, options.isChained === false ? null : nextLink(ledger));
  await ledger.append([{ ...stageEvent('evidence.sealed', { ...sealRef }), id: sealEventId(STAGE_RUN) }]);
  const close = async (): Promise<void> => {
    await ledger.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { folder, ledger, store, keyring, seal: sealRef, artefacts, close };
}

export function createStageManifest(): EvidenceManifest {
  return {
    schemaVersion: 1,
    runId: STAGE_RUN,
    task: { id: 'task-1', description: 'say hello' },
    base: { commit: 'a'.repeat(40), baselineTree: 'b'.repeat(40) },
    capabilities: [{ name: 'lint', hash: ZERO }],
    env: { bundles: [], names: ['HOME', 'API_URL'] },
    inputs: [{ key: 'spec', sha256: ZERO }],
    pipeline: { id: 'caisson.default', hash: ZERO },
    policy: { grant },
    runtime: { name: 'command', version: '1.0.0', binary: ZERO },
    model: { requested: '' },
    host: { caisson: '0.1.0', node: 'v24.0.0', platform: 'linux-x64' },
  };
}

function listEvents(fillers: number, resultRef: string | undefined): NewEvent[] {
  const resolved = { capabilities: [], env: [], model: { requested: '', served: [] } };
  const task = { id: 'task-1', description: 'say hello', priority: 5 };
  return [
    stageEvent('dispatch.accepted', { task, runtime: 'command', host: 'host-1', grant, resolved }, 0),
    stageEvent('attempt.launched', { handle: { pid: 1 }, nonce: 'n', workspace: {} }),
    stageEvent('dispatch.started', { grant }),
    ...Array.from({ length: fillers }, (_, index) =>
      stageEvent('warning', { source: 'stage', message: `olé ${index}` }),
    ),
    stageEvent('dispatch.finished', {
      durationMs: 12.5,
      exitCode: 0,
      ...definedOnly({ resultRef }),
    }),
  ];
}

function stageEvent(type: EventType, data: Record<string, unknown>, attempt = 1): NewEvent {
  return { runId: STAGE_RUN, attempt, type, version: 1, at: AT, trace: '', data };
}

async function putArtefacts(store: Store): Promise<Artefact[]> {
  const patch = await store.putBlob(Buffer.from('diff --git a/x b/x\n'));
  const report = await store.putBlob(Buffer.alloc(700, 'r'));
  return [
    { name: 'patch', ...patch },
    { name: 'outputs/report.txt', ...report },
  ];
}
