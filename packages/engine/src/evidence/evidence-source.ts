import type { ChainEvent } from '../ledger/index.ts';

/** A blob as it was found. */
export interface FoundBlob {
  readonly digest: string;
  readonly size: number;
}

/**
 * What is to be verified, from any source. Each read may throw: the check that needed it then fails with the error's
 * message. Readers must not compare anything with the statement; the verifier does that.
 */
export interface EvidenceSource {
  /** The run this claims to be about. */
  readRunId(): string;
  readEnvelope(): Promise<Buffer>;
  /** null: this kind of source carries no key. */
  readPublicKey(): Promise<Buffer | null>;
  readManifest(digest: string): Promise<Buffer>;
  readResult(digest: string): Promise<Buffer>;
  /** Whether events may follow the sealed ones: in a ledger they may, in an export they would be unsigned. */
  readonly hasLaterEvents: boolean;
  /** At least the sealed events, in order. */
  readEvents(): Promise<readonly ChainEvent[]>;
  /** Reads and hashes. */
  measureArtefact(digest: string): Promise<FoundBlob>;
  /** Parts that no statement names. */
  listStray(expected: {
    readonly digests: readonly string[];
    readonly hasResult: boolean;
  }): readonly string[];
}
