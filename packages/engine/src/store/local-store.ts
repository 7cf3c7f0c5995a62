import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';

import { parseManifest } from './bundle-manifest.ts';
import type {
  BlobRef,
  BlobSource,
  BundleManifest,
  BundleRef,
  GcOptions,
  GcReport,
  ListBlobsOptions,
  MaterialiseOptions,
  PutBundleOptions,
  Roots,
  Store,
} from './contract.ts';
import { StoreAccessError } from './errors.ts';
import { LocalBlobs } from './local-blobs.ts';
import { collectLocalGarbage } from './local-gc.ts';
import { createLayout } from './local-layout.ts';
import { listHeld } from './list-held.ts';
import { LocalReader } from './local-reader.ts';
import { materialiseBundle } from './materialise.ts';
import { putBundleLocally } from './put-bundle.ts';

/** A store in a folder. */
export interface LocalStore extends Store {
  /**
   * Writes the blob again, replacing what is in its place. Throws `StoreCorruptError` when the source is not that blob.
   */
  replaceBlob(digest: string, source: Readable): Promise<void>;
}

/** Opens the store in a folder. Touches no disk: the folder is made by the first put, and an absent one is empty. */
export function openLocalStore(folder: string): LocalStore {
  return new FolderStore(folder);
}

class FolderStore implements LocalStore {
  readonly #blobs: LocalBlobs;

  constructor(folder: string) {
    this.#blobs = new LocalBlobs(createLayout(folder));
  }

  async putBlob(source: BlobSource): Promise<BlobRef> {
    return await this.#explain(() => {
      if (source instanceof Uint8Array) return this.#blobs.putBytes(source);
      return this.#blobs.putStream(typeof source === 'string' ? createReadStream(source) : source);
    });
  }

  async putBlobs(contents: readonly Uint8Array[]): Promise<readonly BlobRef[]> {
    return await this.#explain(() => this.#blobs.putTogether(contents));
  }

  async replaceBlob(digest: string, source: Readable): Promise<void> {
    await this.#explain(() => this.#blobs.replace(digest, source));
  }

  getBlob(digest: string): Promise<Buffer> {
    return this.#blobs.read(digest);
  }

  openBlob(digest: string): Promise<Readable> {
    return this.#blobs.open(digest);
  }

  async hasBlob(digest: string): Promise<boolean> {
    return this.#blobs.find(digest) !== null;
  }

  putBundle(folder: string, options: PutBundleOptions = {}): Promise<BundleRef> {
    return this.#explain(() => putBundleLocally(this.#blobs, folder, options));
  }

  async readManifest(hash: string): Promise<BundleManifest> {
    return parseManifest(await this.#blobs.read(hash));
  }

  async materialise(hash: string, target: string, options: MaterialiseOptions = {}): Promise<BundleRef> {
    const manifest = await this.readManifest(hash);
    const reader = new LocalReader(this.#blobs);
    try {
      return await materialiseBundle(reader, hash, manifest, target, options);
    } finally {
      reader.close();
    }
  }

  async *listBlobs({ isTolerant = false }: ListBlobsOptions = {}): AsyncGenerator<string> {
    yield* isTolerant ? listHeld(this.#blobs) : this.#blobs.list();
  }

  gc(roots: Iterable<string> | Roots, options: GcOptions): Promise<GcReport> {
    return collectLocalGarbage(this.#blobs, roots, options);
  }

  /** A system error while writing (full disk, no permission) becomes one that says what to do. */
  async #explain<T>(put: () => Promise<T>): Promise<T> {
    try {
      return await put();
    } catch (cause) {
      if (!(cause instanceof Error) || !('syscall' in cause)) throw cause;
      throw new StoreAccessError(`cannot put into store ${this.#blobs.layout.root}: ${cause.message}`, {
        cause,
        remedy: 'Check that the source is readable, the state folder writable and the disk not full.',
      });
    }
  }
}
