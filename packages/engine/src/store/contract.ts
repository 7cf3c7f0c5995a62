import type { Readable } from 'node:stream';

/** A stored byte string: named by its content, never by its origin. */
export interface BlobRef {
  /** sha256, lowercase hex. */
  readonly digest: string;
  readonly size: number;
}

/** A stored folder. `hash` is the sha256 of the canonical manifest and is the bundle's identity. */
export interface BundleRef {
  readonly hash: string;
  /** Bytes of all files together. */
  readonly size: number;
  /** Number of files and links. */
  readonly files: number;
}

/** Only the executable bit of a file is kept; the rest of its mode depends on the machine. */
export type FileMode = '644' | '755';

export type BundleEntry =
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly mode: FileMode;
      readonly digest: string;
      readonly size: number;
    }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  /** Only folders that hold nothing are listed; others follow from the paths. */
  | { readonly kind: 'folder'; readonly path: string };

/** Entries are sorted by the bytes of their paths. */
export interface BundleManifest {
  readonly bundle: 1;
  readonly entries: readonly BundleEntry[];
}

export interface PutBundleOptions {
  /** Refuse a folder whose files together are larger. */
  readonly maxBytes?: number;
  /** Refuse a folder with more entries. */
  readonly maxFiles?: number;
  readonly signal?: AbortSignal;
}

export interface MaterialiseOptions {
  /**
   * The caller promises that no process writes to the files of the target (for example, it is mounted read-only). Only
   * then may a file be a hard link into the store.
   */
  readonly readOnly?: boolean;
  readonly signal?: AbortSignal;
}

export interface GcOptions {
  /** What was put or found again within this time is kept, rooted or not. */
  readonly graceMs: number;
  /** The roots that may be bundles; without it any may be. While one of them is damaged, nothing is removed. */
  readonly bundles?: Digests;
  /** The roots whose absence is reported; without it every root. */
  readonly needed?: Digests;
  readonly signal?: AbortSignal;
}

/** Which digests are meant. */
export interface Digests {
  has(digest: string): boolean;
}

/** Roots of which not all are known by name: those that are listed are looked for, if the store does not list them. */
export interface Roots extends Digests, Iterable<string> {}

export interface ListBlobsOptions {
  /** Leave out a folder that cannot be listed, and name also what is there under other names, or only for a moment. */
  readonly isTolerant?: boolean;
}

export interface GcReport {
  readonly keptBlobs: number;
  /** Unreachable, but younger than the grace period. */
  readonly youngBlobs: number;
  readonly removedBlobs: number;
  readonly removedBytes: number;
  /** Leftovers of interrupted writes that were swept. */
  readonly sweptTemps: number;
  /** Roots, or blobs named by a rooted bundle, that the store does not have. */
  readonly missing: readonly string[];
  /** Roots and packs that are damaged or cannot be read. They are left as they are. */
  readonly problems: readonly BlobProblem[];
}

/** What is wrong with something in the store. */
export interface BlobProblem {
  /** Of the blob, or the name of a pack. */
  readonly digest: string;
  readonly kind: 'missing' | 'damaged' | 'unreadable';
  readonly detail: string;
  /** The file that is damaged: of the blob alone, or a pack. */
  readonly file?: string;
}

/** Bytes, a stream of bytes, or the path of a file. */
export type BlobSource = Uint8Array | Readable | string;

/**
 * sha256-addressed blobs and bundles.
 *
 * Promises: what `put…` returned is durable; what a read returns has the requested digest, or the read throws
 * `StoreCorruptError`; an unreadable store is an error and never an absent blob; damage does not affect the rest.
 * Implementers must not: return unverified bytes, treat a failed read as a miss, remove anything outside `gc`.
 */
export interface Store {
  putBlob(source: BlobSource): Promise<BlobRef>;
  /** All of these small ones, in one file where the store can: that waits for the disk once. */
  putBlobs(contents: readonly Uint8Array[]): Promise<readonly BlobRef[]>;
  /** Throws `BlobMissingError` or `StoreCorruptError`. */
  getBlob(digest: string): Promise<Buffer>;
  /** A stream whose last bytes arrive only once the whole has the digest; otherwise it errors before its end. */
  openBlob(digest: string): Promise<Readable>;
  hasBlob(digest: string): Promise<boolean>;
  /** Throws `BundleRefusedError` with the reason for a folder that cannot be a bundle. */
  putBundle(folder: string, options?: PutBundleOptions): Promise<BundleRef>;
  readManifest(hash: string): Promise<BundleManifest>;
  /** Writes the bundle to a folder that is absent or empty; on failure the folder is as it was. */
  materialise(hash: string, targetFolder: string, options?: MaterialiseOptions): Promise<BundleRef>;
  /** The digest of every blob that is here now, in no order; content is not read. */
  listBlobs(options?: ListBlobsOptions): AsyncIterable<string>;
  /** Removes every blob that no root reaches. A root is the digest of a blob or the hash of a bundle. */
  gc(roots: Iterable<string> | Roots, options: GcOptions): Promise<GcReport>;
}
