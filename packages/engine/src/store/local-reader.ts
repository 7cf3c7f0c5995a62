import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';

import { verifyBytes } from './digest.ts';
import { isMissing } from './local-layout.ts';
import { readPacked, type BlobPlace } from './blob-place.ts';
import type { LocalBlobs } from './local-blobs.ts';
import type { BlobReader } from './materialise.ts';

/** Reads many blobs of a local store: each pack is opened once. Close it when done. */
export class LocalReader implements BlobReader {
  readonly concurrency = 1;
  readonly #blobs: LocalBlobs;
  readonly #openPacks = new Map<string, number>();

  constructor(blobs: LocalBlobs) {
    this.#blobs = blobs;
    blobs.packs.refresh();
  }

  read(digest: string): Promise<Buffer> | Buffer {
    const place = this.#blobs.findKnown(digest);
    if (place?.kind !== 'packed') return this.#blobs.read(digest);
    const fd = this.#openPack(place);
    if (fd === null) return this.#blobs.read(digest);
    try {
      const bytes = readPacked(digest, place, fd);
      verifyBytes(digest, bytes, place.file);
      return bytes;
    } catch {
      return this.#blobs.read(digest); // there may be a second copy
    }
  }

  open(digest: string): Promise<Readable> {
    return this.#blobs.open(digest);
  }

  findFile(digest: string): string | null {
    const place = this.#blobs.findKnown(digest);
    return place?.kind === 'loose' ? place.file : null;
  }

  close(): void {
    for (const fd of this.#openPacks.values()) closeSync(fd);
    this.#openPacks.clear();
  }

  /** null: moved by a gc; the slow path finds it again. */
  #openPack(place: BlobPlace & { kind: 'packed' }): number | null {
    const known = this.#openPacks.get(place.name);
    if (known !== undefined) return known;
    try {
      const fd = openSync(place.file, 'r');
      this.#openPacks.set(place.name, fd);
      return fd;
    } catch (cause) {
      if (isMissing(cause)) return null;
      throw cause;
    }
  }
}
