import { hash } from 'node:crypto';

import { isTerminal } from '@caisson/protocol';

import { toChainEvent, type StoredEvent } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';
import type { Artefact, DsseEnvelope, RecordedLink, SealRef, SigningKey } from './contract.ts';
import { encodeEnvelope, signEnvelope } from './dsse.ts';
import { SealRefusedError } from './errors.ts';
import { findBreak } from './event-chain.ts';
import { encodeManifest, type EvidenceManifest } from './manifest.ts';
import { merkleRoot } from './merkle.ts';
import { encodeStatement } from './statement.ts';

export interface SealInput {
  readonly store: Store;
  readonly runId: string;
  /** Every event of the run from the first to the terminal one. */
  readonly events: readonly StoredEvent[];
  readonly manifest: EvidenceManifest;
  /** Result v1, byte for byte as it is in the store; null when the run ended without one. */
  readonly resultBytes: Uint8Array | null;
  /** Already in the store. */
  readonly artefacts: readonly Artefact[];
}

export interface Seal {
  readonly envelope: DsseEnvelope;
  /** To be recorded as the data of `evidence.sealed`. */
  readonly sealRef: SealRef;
}

/** A checked run: everything except the signature. Its manifest is stored with the envelope, in one file. */
export interface PreparedSeal {
  readonly input: SealInput;
  readonly manifest: ReturnType<typeof encodeManifest>;
  readonly merkleRoot: string;
  readonly resultDigest: string | null;
}

/** Does what needs no key and no place in the chain. Refuses what a verifier would refuse. */
export async function prepareSeal(input: SealInput): Promise<PreparedSeal> {
  await refuseUnsound(input);
  return {
    input,
    manifest: encodeManifest(input.manifest),
    merkleRoot: merkleRoot(input.events.map((event) => event.hash)),
    resultDigest: input.resultBytes === null ? null : hash('sha256', input.resultBytes),
  };
}

/** Binds the inputs, the events, the outputs and the seal before it with one signature. All of it is in the store then. */
export async function signSeal(
  prepared: PreparedSeal,
  key: SigningKey,
  link: RecordedLink | null,
): Promise<Seal> {
  const { input, manifest, resultDigest } = prepared;
  const payload = encodeStatement({
    manifest: input.manifest,
    manifestDigest: manifest.digest,
    events: input.events,
    merkleRoot: prepared.merkleRoot,
    resultDigest,
    artefacts: input.artefacts.map(({ name, digest, size }) => ({ name, digest, size })),
    key,
    chain: link === null ? null : { ledger: link.ledger, number: link.number, previous: link.previous },
  });
  const envelope = await signEnvelope(payload, key);
  const encoded = encodeEnvelope(envelope);
  await input.store.putBlobs([encoded, manifest.bytes]);
  return {
    envelope,
    sealRef: {
      envelopeRef: hash('sha256', encoded),
      manifestRef: manifest.digest,
      keyId: key.keyId,
      ...(link === null ? {} : { chain: link }),
    },
  };
}

async function refuseUnsound(input: SealInput): Promise<void> {
  const refuse = (detail: string) => new SealRefusedError(`run ${input.runId} cannot be sealed: ${detail}`);
  const broken = findBreak(input.events.map(toChainEvent), input.runId);
  if (broken !== null) throw refuse(broken);
  const last = input.events.at(-1);
  if (last === undefined || !isTerminal(last.type)) throw refuse('its last event is not a terminal one');
  if (input.manifest.runId !== input.runId) throw refuse(`the manifest is of run ${input.manifest.runId}`);
  const names = new Set<string>();
  for (const artefact of input.artefacts) {
    if (names.has(artefact.name)) throw refuse(`two artefacts are named ${artefact.name}`);
    names.add(artefact.name);
    if (!(await input.store.hasBlob(artefact.digest)))
      throw refuse(`artefact ${artefact.name} is not in the store`);
  }
}
