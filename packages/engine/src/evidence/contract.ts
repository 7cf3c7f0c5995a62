import type { KeyObject } from 'node:crypto';

/** A trusted public key, or the one that signed. */
export interface PublicKey {
  /** sha256 of the 32 raw bytes, lowercase hex. */
  readonly keyId: string;
  readonly pem: string;
  readonly key: KeyObject;
}

/** A key that signs, wherever its private half is. */
export interface SigningKey extends PublicKey {
  /** The 64 bytes of an Ed25519 signature over `data`. */
  sign(data: Uint8Array): Promise<Buffer>;
}

/** The place of a seal among the seals of its ledger. It is signed, so that no seal can be removed from the middle. */
export interface SealLink {
  /** The random id of the ledger. */
  readonly ledger: string;
  /** Counts the seals of the ledger from 1. */
  readonly number: number;
  /** sha256 of the envelope before this one; null when there is none. */
  readonly previous: string | null;
}

/** The same, with the run of the seal before it, which stays inside the ledger. */
export interface RecordedLink extends SealLink {
  readonly previousRun: string | null;
}

/** What came out of a run: the patch, an output, the agent's answer and what it printed. */
export interface Artefact {
  /** `patch`, `reply`, `logs/stdout`, `logs/stderr`, or the path of an output. */
  readonly name: string;
  /** sha256 of its bytes, which are in the store. */
  readonly digest: string;
  readonly size: number;
}

/** DSSE envelope v1.0 around an in-toto statement. */
export interface DsseEnvelope {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

/** Where the seal of a run is in the store; the data of `evidence.sealed`. */
export interface SealRef {
  readonly envelopeRef: string;
  readonly manifestRef: string;
  readonly keyId: string;
  /** Absent in seals of the first versions. */
  readonly chain?: RecordedLink | undefined;
}

/** `missing`: it could not be checked, because something is missing or cannot be read. */
export type Verdict = 'ok' | 'failed' | 'missing' | 'not-applicable';

/** One answer of a verification. `id` is public API: `container`, `signature`, `manifest`, `artefact:<name>`, … */
export interface Check {
  readonly id: string;
  readonly verdict: Verdict;
  readonly detail: string;
  /** What to do, where that is known. */
  readonly remedy?: string;
}

/**
 * The worst finding, in this order: `bad-signature`: the statement is not what the key signed, so nothing it says
 * counts; never because the envelope is missing or damaged in the store. `tampered`: something differs from what was signed or recorded. `unsealed`: nothing was signed yet, so there
 * is nothing to compare with. `incomplete`: what is here agrees with what was signed, and something is missing or
 * cannot be read. `no-key`: everything agrees, but the key that signed is not trusted here.
 */
export type VerifyOutcome = 'ok' | 'tampered' | 'unsealed' | 'incomplete' | 'bad-signature' | 'no-key';

export interface Verification {
  readonly runId: string | null;
  /** The key that the envelope says it was signed with. */
  readonly keyId: string | null;
  readonly checks: readonly Check[];
  readonly outcome: VerifyOutcome;
}

/** A sealed result on its way out. */
export interface SealedResult {
  readonly runId: string;
  readonly envelope: DsseEnvelope;
  readonly seal: SealRef;
  /** Result v1 as sealed; null when the run ended without one. */
  readonly resultBytes: Buffer | null;
  readonly artefacts: readonly Artefact[];
}

/**
 * Receives sealed results elsewhere. `deliver` is called at least once for a run and must be idempotent by `runId`; it
 * must not change its input, and its failure never changes the run's ending.
 */
export interface ResultSink {
  readonly name: string;
  deliver(sealed: SealedResult, signal?: AbortSignal): Promise<void>;
}
