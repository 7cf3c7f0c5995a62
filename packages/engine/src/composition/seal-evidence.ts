/**
 * Signs a run that has ended: the manifest is read from the ledger, so that recovery can seal what another host began.
 */
import type { Clock } from '@caisson/ground';
import { isEnding, Result, type TerminalType } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { ResolvedConfig } from '../config/index.ts';
import {
  EvidenceManifest,
  prepareSeal,
  SealRefusedError,
  TamperedError,
  UnsealedError,
  type Artefact,
  type Keyring,
  type ResultSink,
} from '../evidence/index.ts';
import { ZERO_HASH, type Ledger, type Recorder, type StoredEvent, type StoredOf } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';
import { deliverSealed } from './deliver-sealed.ts';
import { digestProgram } from './digest-program.ts';
import type { EndingMarks } from './ending-marks.ts';
import { createSealChain, type SealChain } from './seal-chain.ts';
import { openUserKeyring } from './user-keys.ts';

export interface SealerOptions {
  readonly ledger: Ledger;
  readonly endings: EndingMarks;
  readonly recorder: Recorder;
  readonly store: Store;
  readonly config: ResolvedConfig;
  readonly path: string;
  readonly version: string;
  readonly sinks: readonly ResultSink[];
  readonly clock: Clock;
  warn(message: string): void;
}

export interface SealOptions {
  /** How long to wait for other signers. */
  readonly waitMs?: number;
  /** The run ended a while ago: one whose seal was removed meanwhile gets no other, and TamperedError is thrown. */
  readonly isLate?: boolean;
  /** The user asks for the seal of this run: an ending without a mark is accepted then. */
  readonly acceptsUnmarked?: boolean;
}

export interface Sealer {
  /** Signs the ended run, once; one that is already sealed is delivered again, which sinks must accept. */
  seal(runId: string, options?: SealOptions): Promise<void>;
  /** Does the slow part of a process's first seal early, while there is nothing else to do. */
  prepare(): void;
  /** Waits, no longer than that, for a witness request under way. */
  settle(waitMs: number): Promise<void>;
}

export function createSealer(options: SealerOptions): Sealer {
  const keyring = openUserKeyring(options.config);
  const chain = createSealChain(options);
  let isPrepared = false;
  return {
    async seal(runId, how = {}) {
      try {
        await seal(options, keyring, chain, { runId, ...how });
      } catch (error) {
        throw error instanceof TamperedError ? error : new UnsealedError(runId, error as Error);
      }
    },
    settle: (waitMs) => chain.settle(waitMs),
    prepare() {
      if (isPrepared) return;
      isPrepared = true;
      for (const schema of [EvidenceManifest, Result]) schema.safeParse({});
      keyring.getSigningKey().catch(() => undefined); // reported when it is needed
    },
  };
}

async function seal(
  options: SealerOptions,
  keyring: Keyring,
  chain: SealChain,
  { runId, ...how }: SealOptions & { readonly runId: string },
): Promise<void> {
  const { ledger, store } = options;
  const events = ledger.read({ runId });
  const ending = events.findLast((event) => isEnding(event));
  if (ending === undefined) return;
  const { resultRef } = ending.data;
  const resultBytes = resultRef === undefined ? null : await store.getBlob(resultRef);
  const artefacts = await listArtefacts(store, ending, resultBytes);
  const prepared = await prepareSeal({
    store,
    runId,
    events: events.filter((event) => event.seq <= ending.seq),
    manifest: composeManifest(options, runId, events),
    resultBytes,
    artefacts,
  });
  const key = await keyring.getSigningKey();
  const record = options.recorder.of(runId, ending.trace);
  const { attempt } = ending;
  const sealed = await chain.add(runId, { key, prepared, record, ending }, how);
  // If a host dies before this, recovery delivers again.
  const undelivered = await deliverSealed(
    options.sinks,
    { runId, envelope: sealed.envelope, seal: sealed.sealRef, resultBytes, artefacts },
    options.clock,
  );
  for (const message of undelivered)
    await record.append('warning', { source: 'evidence', message }, { attempt });
}

async function listArtefacts(
  store: Store,
  ending: StoredOf<TerminalType>,
  resultBytes: Buffer | null,
): Promise<Artefact[]> {
  const artefacts: Artefact[] = [];
  const { patchRef } = ending.data;
  if (patchRef !== undefined)
    artefacts.push({ name: 'patch', digest: patchRef, size: (await store.getBlob(patchRef)).length });
  if (resultBytes === null) return artefacts;
  const result = Result.parse(JSON.parse(resultBytes.toString('utf8')));
  for (const output of result.outputs)
    artefacts.push({ name: output.path, digest: output.ref, size: output.size });
  const { reply, logs } = result;
  return [
    ...artefacts,
    { name: 'reply', digest: reply.ref, size: reply.bytes },
    { name: 'logs/stdout', digest: logs.stdout.ref, size: logs.stdout.bytes },
    { name: 'logs/stderr', digest: logs.stderr.ref, size: logs.stderr.bytes },
  ];
}

function composeManifest(
  options: SealerOptions,
  runId: string,
  events: readonly StoredEvent[],
): EvidenceManifest {
  const [first] = events;
  if (first?.type !== 'dispatch.accepted')
    throw new SealRefusedError(`${runId} does not begin with its acceptance`);
  const accepted = first.data;
  const launched = events.findLast((event) => event.type === 'attempt.launched');
  const workspace = WorkspaceBase.safeParse(launched?.data.workspace).data;
  const { resolved, runtimeInfo } = accepted;
  return {
    schemaVersion: 1,
    runId,
    ...(accepted.continues === undefined ? {} : { continues: accepted.continues }),
    task: accepted.task,
    base: { commit: workspace?.baseCommit ?? null, baselineTree: workspace?.baselineTree ?? null },
    ...(resolved.agent === undefined ? {} : { agent: resolved.agent }),
    capabilities: resolved.capabilities,
    env: { bundles: resolved.env, names: accepted.envNames ?? [] },
    inputs: (accepted.inputs ?? []).map(({ key, sha256 }) => ({ key, sha256 })),
    ...(accepted.prompts === undefined ? {} : { prompts: accepted.prompts }),
    pipeline: accepted.pipeline ?? { id: 'caisson.default', hash: ZERO_HASH },
    policy: {
      grant: accepted.grant,
      ceiling: options.config.policy.ceiling,
      ...(accepted.rulesHash === undefined ? {} : { rulesHash: accepted.rulesHash }),
    },
    runtime: {
      name: accepted.runtime,
      version: runtimeInfo?.version ?? null,
      binary: digestProgram(options.ledger.kv, runtimeInfo?.bin ?? '', options.path),
      ...(runtimeInfo?.adapter == null ? {} : { adapter: runtimeInfo.adapter }),
    },
    model: { requested: resolved.model.requested },
    host: {
      caisson: options.version,
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    },
  };
}

/** The part of a prepared workspace that the manifest names. */
const WorkspaceBase = z.object({ baseCommit: z.nullable(z.string()), baselineTree: z.string() });
