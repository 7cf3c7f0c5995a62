import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

import { encodeManifest, parseManifest } from './bundle-manifest.ts';
import { refuseExcess, walkFolder, type FoundEntry } from './bundle-walk.ts';
import type {
  BlobRef,
  BlobSource,
  BundleEntry,
  BundleManifest,
  BundleRef,
  GcOptions,
  GcReport,
  MaterialiseOptions,
  PutBundleOptions,
  Roots,
  Store,
} from './contract.ts';
import {
  digestOf,
  EMPTY_DIGEST,
  HashingStream,
  refuseInvalidDigest,
  verifyBytes,
  VerifyingStream,
} from './digest.ts';
import { BlobMissingError, BundleRefusedError } from './errors.ts';
import { forEachOf, MOST_AT_ONCE } from '../platform/index.ts';
import { markRoots } from './mark-roots.ts';
import { materialiseBundle } from './materialise.ts';
import { readStill, resolveFolder } from './put-bundle.ts';
import { S3Objects, type S3Object, type S3StoreOptions } from './s3-objects.ts';

export type { S3StoreOptions } from './s3-objects.ts';

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
/** An object found again is sent again when it is older than this, so gc's grace period must be longer. */
const FRESH_MS = 600_000;
/** Empty content needs no object. */
const EVERYWHERE = { size: 0, modifiedAtMs: Infinity };

/** Opens a store in an S3 bucket. Nothing is loaded or contacted before the first call. */
export function openS3Store(options: S3StoreOptions): Store {
  return new S3Store(options);
}

class S3Store implements Store {
  readonly #objects: S3Objects;
  readonly #prefix: string;

  constructor(options: S3StoreOptions) {
    this.#objects = new S3Objects(options);
    this.#prefix = `${options.prefix ?? ''}blobs/`;
  }

  async putBlob(source: BlobSource): Promise<BlobRef> {
    if (source instanceof Uint8Array) return await this.#putBytes(source);
    if (typeof source === 'string') return await this.#putFile(source);
    return await this.#putStream(source);
  }

  putBlobs(contents: readonly Uint8Array[]): Promise<readonly BlobRef[]> {
    return Promise.all(contents.map((bytes) => this.#putBytes(bytes)));
  }

  async getBlob(digest: string): Promise<Buffer> {
    const bytes = await buffer(await this.#fetch(digest));
    verifyBytes(digest, bytes, this.#where(digest));
    return bytes;
  }

  async openBlob(digest: string): Promise<Readable> {
    const source = await this.#fetch(digest);
    const verified = new VerifyingStream(digest, this.#where(digest));
    source.on('error', (cause) => verified.destroy(cause));
    verified.on('close', () => source.destroy());
    return source.pipe(verified);
  }

  async hasBlob(digest: string): Promise<boolean> {
    return (await this.#find(digest)) !== null;
  }

  async putBundle(folder: string, options: PutBundleOptions = {}): Promise<BundleRef> {
    const root = resolveFolder(folder);
    const found = await walkFolder(root, options);
    encodeManifest(found.map(withoutContent)); // refuse before anything is sent
    const entries: BundleEntry[] = [];
    let bytes = 0n;
    await forEachOf(found, async (entry) => {
      const put = await this.#putEntry(root, entry, options);
      entries.push(put);
      if (put.kind === 'file') bytes += BigInt(put.size);
      refuseExcess(0, bytes, entry.path, options);
    });
    const manifest = encodeManifest(entries);
    await this.#putBytes(manifest.bytes);
    return manifest.ref;
  }

  async readManifest(hash: string): Promise<BundleManifest> {
    return parseManifest(await this.getBlob(hash));
  }

  async materialise(hash: string, target: string, options: MaterialiseOptions = {}): Promise<BundleRef> {
    const manifest = await this.readManifest(hash);
    const reader = {
      read: (digest: string) => this.getBlob(digest),
      open: (digest: string) => this.openBlob(digest),
      findFile: () => null,
      concurrency: MOST_AT_ONCE,
    };
    return await materialiseBundle(reader, hash, manifest, target, options);
  }

  async *listBlobs(): AsyncGenerator<string> {
    for await (const { key } of this.#objects.list(this.#prefix)) yield key.slice(this.#prefix.length);
  }

  async gc(roots: Iterable<string> | Roots, options: GcOptions): Promise<GcReport> {
    const { live, missing, problems, isComplete } = await markRoots(
      {
        list: () => this.listBlobs(),
        findSize: async (digest) => (await this.#find(digest))?.size ?? null,
        read: (digest) => this.getBlob(digest),
      },
      roots,
      options,
    );
    const youngAfterMs = Date.now() - options.graceMs;
    const counts = { keptBlobs: 0, youngBlobs: 0, removedBlobs: 0, removedBytes: 0, sweptTemps: 0 };
    for await (const object of this.#objects.list(this.#prefix)) {
      options.signal?.throwIfAborted();
      if (!isComplete || live.has(object.key.slice(this.#prefix.length))) counts.keptBlobs += 1;
      else if (!(await this.#removeOld(object, youngAfterMs))) counts.youngBlobs += 1;
      else {
        counts.removedBlobs += 1;
        counts.removedBytes += object.size;
      }
    }
    return { ...counts, missing, problems };
  }

  /** Checks again right before removing: a put may have refreshed the object since it was listed. */
  async #removeOld(object: S3Object, youngAfterMs: number): Promise<boolean> {
    if (object.modifiedAtMs > youngAfterMs) return false;
    const now = await this.#objects.head(object.key);
    if (now !== null && now.modifiedAtMs > youngAfterMs) return false;
    await this.#objects.remove(object.key);
    return true;
  }

  async #putEntry(root: string, entry: FoundEntry, options: PutBundleOptions): Promise<BundleEntry> {
    if (entry.kind !== 'file') return entry;
    const file = join(root, entry.path);
    const mode = (entry.stats.mode & 0o100n) !== 0n ? '755' : '644';
    if (entry.stats.size > MAX_BUFFERED_BYTES) {
      const ref = await this.#putFile(file, options.signal);
      return { kind: 'file', path: entry.path, mode, digest: ref.digest, size: ref.size };
    }
    const { bytes } = readStill(file, entry.path);
    const ref = await this.#putBytes(bytes, options.signal);
    return { kind: 'file', path: entry.path, mode, digest: ref.digest, size: ref.size };
  }

  async #putBytes(bytes: Uint8Array, signal?: AbortSignal): Promise<BlobRef> {
    const ref = { digest: digestOf(bytes), size: bytes.length };
    if (!(await this.#reuse(ref))) await this.#objects.put(this.#key(ref.digest), bytes, ref.size, signal);
    return ref;
  }

  /** The key is the digest, so the file is read twice; what was sent must be what was hashed. */
  async #putFile(file: string, signal?: AbortSignal): Promise<BlobRef> {
    const first = new HashingStream();
    first.resume();
    await pipeline(createReadStream(file), first, { signal });
    const ref = { digest: first.digest, size: first.size };
    if (await this.#reuse(ref)) return ref;
    const second = new HashingStream();
    const source = createReadStream(file);
    source.on('error', (cause) => second.destroy(cause));
    await this.#objects.put(this.#key(ref.digest), source.pipe(second), ref.size, signal);
    if (second.digest === ref.digest) return ref;
    await this.#objects.remove(this.#key(ref.digest));
    throw new BundleRefusedError(
      'changed-while-reading',
      file,
      'was written to while it was sent; try again',
    );
  }

  /** The length of a stream is unknown before its end, and S3 needs it first. */
  async #putStream(source: Readable): Promise<BlobRef> {
    const folder = await mkdtemp(join(tmpdir(), 'caisson-put-'));
    try {
      const file = join(folder, 'blob');
      await pipeline(source, createWriteStream(file, { mode: 0o600 }));
      return await this.#putFile(file);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** An old object is sent again: every server supports that way to refresh its time, and it repairs damage. */
  async #reuse(ref: BlobRef): Promise<boolean> {
    const object = await this.#find(ref.digest);
    return object !== null && object.size === ref.size && object.modifiedAtMs > Date.now() - FRESH_MS;
  }

  async #find(digest: string): Promise<Pick<S3Object, 'size' | 'modifiedAtMs'> | null> {
    return digest === EMPTY_DIGEST ? EVERYWHERE : await this.#objects.head(this.#key(digest));
  }

  async #fetch(digest: string): Promise<Readable> {
    if (digest === EMPTY_DIGEST) return Readable.from([], { objectMode: false });
    const body = await this.#objects.get(this.#key(digest));
    if (body === null) throw new BlobMissingError(digest, this.#where(digest));
    return body;
  }

  #key(digest: string): string {
    refuseInvalidDigest(digest);
    return this.#prefix + digest;
  }

  #where(digest: string): string {
    return this.#objects.describe(this.#key(digest));
  }
}

function withoutContent(entry: FoundEntry): BundleEntry {
  if (entry.kind !== 'file') return entry;
  return { kind: 'file', path: entry.path, mode: '644', digest: '', size: 0 };
}
