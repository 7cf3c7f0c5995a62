/** Finds, reads and writes single blobs in a store folder, as loose files or in a pack. */
import { createWriteStream } from 'node:fs';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { publishFile, shareTurn } from '@caisson/ground';

import { findLoose, NOWHERE, readVerified, touchFile, type BlobPlace } from './blob-place.ts';
import type { BlobRef } from './contract.ts';
import {
  digestOf,
  EMPTY_DIGEST,
  HashingStream,
  refuseInvalidDigest,
  verifyBytes,
  VerifyingStream,
} from './digest.ts';
import { BlobMissingError } from './errors.ts';
import {
  accessError,
  blobFile,
  createTempPath,
  ensureFolderAsync,
  isMissing,
  listNames,
  type LocalLayout,
} from './local-layout.ts';
import { PackWriter } from './pack-writer.ts';
import { Packs } from './packs.ts';

const MAX_REREAD_BYTES = 1024 * 1024;
const MAX_TRIES = 3;

export class LocalBlobs {
  readonly layout: LocalLayout;
  readonly packs: Packs;

  constructor(layout: LocalLayout) {
    this.layout = layout;
    this.packs = new Packs(layout);
  }

  /** Where the blob is, without looking for new packs. */
  findKnown(digest: string): BlobPlace | null {
    if (digest === EMPTY_DIGEST) return NOWHERE;
    const packed = this.packs.find(digest);
    if (packed !== null) return { kind: 'packed', ...packed };
    return findLoose(blobFile(this.layout, digest));
  }

  /** Where the blob is; null only when the whole store was readable and does not have it. */
  find(digest: string): BlobPlace | null {
    const place = this.findReadable(digest);
    if (place === null) this.packs.refuseUnknown(digest);
    return place;
  }

  /** Where the blob is; null also when only a broken pack may have it. */
  findReadable(digest: string): BlobPlace | null {
    refuseInvalidDigest(digest);
    const known = this.findKnown(digest);
    if (known !== null) return known;
    this.packs.refresh();
    return this.findKnown(digest) ?? findLoose(join(this.layout.trash, digest)) ?? this.findKnown(digest);
  }

  /** Digests of all blobs, loose ones and packed ones. */
  *list(): Generator<string> {
    yield* this.packs.listBlobs();
    for (const shard of listNames(this.layout.blobs))
      for (const rest of listNames(join(this.layout.blobs, shard))) yield shard + rest;
  }

  /** Marks the blob as used again for gc; false when it is gone by now. */
  touch(digest: string, place: BlobPlace): boolean {
    if (place.kind === 'nowhere') return true;
    if (place.kind === 'packed') return this.packs.touch(place.name);
    return touchFile(blobFile(this.layout, digest));
  }

  async read(digest: string): Promise<Buffer> {
    return await this.#retryMoved(digest, async (place) => {
      if (place.kind === 'nowhere') return Buffer.alloc(0);
      if (place.kind === 'packed') return await this.#readPacked(digest, place);
      const bytes = await readFile(place.file);
      verifyBytes(digest, bytes, place.file);
      return bytes;
    });
  }

  /** What is damaged in one pack may be intact in another, or in a loose file. */
  async #readPacked(digest: string, place: BlobPlace & { kind: 'packed' }): Promise<Buffer> {
    try {
      return readVerified(digest, place);
    } catch (error) {
      if (isMissing(error)) throw error;
      for (const other of this.packs.findAll(digest)) {
        try {
          return readVerified(digest, { kind: 'packed', ...other });
        } catch {
          continue;
        }
      }
      const loose = findLoose(blobFile(this.layout, digest));
      if (loose === null) throw error;
      const bytes = await readFile(loose.file);
      verifyBytes(digest, bytes, loose.file);
      return bytes;
    }
  }

  async open(digest: string): Promise<Readable> {
    return await this.#retryMoved(digest, async (place) => {
      if (place.kind !== 'loose') return Readable.from([await this.read(digest)], { objectMode: false });
      const file = await open(place.file, 'r');
      const verified = new VerifyingStream(digest, place.file);
      const source = file.createReadStream({ highWaterMark: 256 * 1024 });
      source.on('error', (cause) => verified.destroy(accessError(place.file, cause)));
      verified.on('close', () => source.destroy());
      return source.pipe(verified);
    });
  }

  async putBytes(bytes: Uint8Array): Promise<BlobRef> {
    await shareTurn();
    const digest = digestOf(bytes);
    if (await this.#reuse(digest, bytes.length)) return { digest, size: bytes.length };
    const temp = createTempPath(this.layout);
    try {
      await writeFile(temp, bytes, { flag: 'wx', mode: 0o600 });
      await this.#publish(temp, digest);
    } catch (cause) {
      await rm(temp, { force: true });
      throw cause;
    }
    return { digest, size: bytes.length };
  }

  /** Those that the store has not yet, as one pack. */
  async putTogether(contents: readonly Uint8Array[]): Promise<BlobRef[]> {
    const refs: BlobRef[] = [];
    const writer = new PackWriter(this.layout);
    try {
      for (const bytes of contents) {
        await shareTurn();
        const ref = { digest: digestOf(bytes), size: bytes.length };
        if (!(await this.#reuse(ref.digest, ref.size))) await writer.add(ref.digest, bytes);
        refs.push(ref);
      }
      if (writer.count > 0) await writer.commit();
      return refs;
    } finally {
      await writer.abandon();
    }
  }

  /** One pass: hashed while it is written. */
  async putStream(source: Readable, signal?: AbortSignal): Promise<BlobRef> {
    const temp = createTempPath(this.layout);
    const hashing = new HashingStream();
    try {
      const target = createWriteStream(temp, { flags: 'wx', mode: 0o600 });
      await pipeline(source, hashing, target, { signal });
      const { digest, size } = hashing;
      if (await this.#reuse(digest, size)) await rm(temp, { force: true });
      else await this.#publish(temp, digest);
      return { digest, size };
    } catch (cause) {
      await rm(temp, { force: true });
      throw cause;
    }
  }

  /** Writes the blob again, replacing what is in its place. */
  async replace(digest: string, source: Readable): Promise<void> {
    const temp = createTempPath(this.layout);
    try {
      const target = createWriteStream(temp, { flags: 'wx', mode: 0o600, flush: true });
      await pipeline(source, new VerifyingStream(digest, temp), target);
      // Something that is not a file would block the new one.
      await rm(blobFile(this.layout, digest), { force: true, recursive: true });
      await this.#publish(temp, digest);
    } catch (cause) {
      await rm(temp, { force: true });
      throw cause;
    }
  }

  /** True when the store has the blob and gc now knows that it is used. A damaged one is written again. */
  async #reuse(digest: string, size: number): Promise<boolean> {
    const place = this.findReadable(digest);
    if (place === null || place.size !== size || !(await this.#isSound(digest, size))) return false;
    return this.touch(digest, place);
  }

  /** Only the size of a large blob is checked. */
  async #isSound(digest: string, size: number): Promise<boolean> {
    if (size > MAX_REREAD_BYTES) return true;
    try {
      await this.read(digest);
      return true;
    } catch {
      return false;
    }
  }

  async #publish(temp: string, digest: string): Promise<void> {
    const file = blobFile(this.layout, digest);
    for (let tries = 1; ; tries += 1) {
      await shareTurn();
      await ensureFolderAsync(dirname(file));
      try {
        await publishFile(temp, file);
        return;
      } catch (cause) {
        if (!isMissing(cause) || tries === MAX_TRIES) throw cause; // an earlier version removed the empty folder meanwhile
      }
    }
  }

  /** gc may move what we just found; then we look once more. */
  async #retryMoved<T>(digest: string, use: (place: BlobPlace) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      const place = this.find(digest);
      if (place === null) throw new BlobMissingError(digest, this.layout.root);
      try {
        return await use(place);
      } catch (cause) {
        if (!isMissing(cause)) throw wrapAccess(place.file, cause);
        if (attempt >= 3) throw new BlobMissingError(digest, this.layout.root);
        this.packs.refresh();
      }
    }
  }
}

function wrapAccess(file: string, cause: unknown): unknown {
  return cause instanceof Error && 'syscall' in cause ? accessError(file, cause) : cause;
}
