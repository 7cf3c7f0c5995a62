/** Signs a run that has ended, once, and delivers it. */
import { shareTurn, type Clock } from '@caisson/ground';
import { isEnding, Result } from '@caisson/protocol';
import type { ResolvedConfig } from '../config/index.ts';
import { resolveProgramMemory, type ProgramFile } from '../discovery/index.ts';
import {
  composeManifest,
  EvidenceManifest,
  listArtefacts,
  prepareSeal,
  TamperedError,
  UnsealedError,
  type Keyring,
  type ResultSink,
  type SealingHost,
} from '../evidence/index.ts';
import type { Ledger, Recorder } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';
import { deliverSealed } from './deliver-sealed.ts';
import { createProgramDigests, type ProgramDigests } from './digest-program.ts';
import type { EndingMarks } from './ending-marks.ts';
import { createSealChain, type SealChain } from './seal-chain.ts';
import { requireTrust } from './trusted-config.ts';
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
  /**
   * Signs the ended run, once; one that is already sealed is delivered again, which sinks must accept. Throws while a file of
   * the configuration was not understood, or asks for a key or a witness without the user's agreement.
   */
  seal(runId: string, options?: SealOptions): Promise<void>;
  /** Does what is slow in a first seal early, of this process or of a program, while there is nothing else to do. */
  prepare(program: ProgramFile | null): void;
  /** Waits, no longer than that, for a witness request under way. */
  settle(waitMs: number): Promise<void>;
}

export function createSealer(options: SealerOptions): Sealer {
  const keyring = openUserKeyring(options.config);
  const chain = createSealChain(options);
  const digests = createProgramDigests(
    resolveProgramMemory(options.config.folders.state, 'program-digests.json'),
  );
  let isPrepared = false;
  return {
    async seal(runId, how = {}) {
      try {
        await requireTrust(options.config, ['keys', 'evidence']); // no other key or witness steps in
        await seal({ ...options, digests }, keyring, chain, { runId, ...how });
      } catch (error) {
        throw error instanceof TamperedError ? error : new UnsealedError(runId, error as Error);
      }
    },
    settle: (waitMs) => chain.settle(waitMs),
    prepare(program) {
      if (program !== null) digests.warm(program);
      if (isPrepared) return;
      isPrepared = true;
      for (const schema of [EvidenceManifest, Result]) schema.safeParse({});
      keyring.getSigningKey().catch(() => undefined); // reported when it is needed
    },
  };
}

async function seal(
  options: SealerOptions & { readonly digests: ProgramDigests },
  keyring: Keyring,
  chain: SealChain,
  { runId, ...how }: SealOptions & { readonly runId: string },
): Promise<void> {
  const { ledger, store } = options;
  const events = await ledger.readRun(runId);
  const ending = events.findLast((event) => isEnding(event));
  if (ending === undefined) return;
  const { resultRef } = ending.data;
  const resultBytes = resultRef === undefined ? null : await store.getBlob(resultRef);
  const artefacts = await listArtefacts(store, ending, resultBytes);
  await shareTurn();
  const manifest = await composeManifest(describeHost(options), runId, events);
  await shareTurn();
  const prepared = await prepareSeal({
    store,
    runId,
    events: events.filter((event) => event.seq <= ending.seq),
    manifest,
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

function describeHost({
  version,
  config,
  digests,
  path,
}: SealerOptions & { readonly digests: ProgramDigests }): SealingHost {
  return {
    version,
    ceiling: config.policy.ceiling,
    digestProgram: (program, state) => digests.find(program, path, state),
  };
}
