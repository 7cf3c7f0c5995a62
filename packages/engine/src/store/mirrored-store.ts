/**
 * A local store with a second copy of everything in a remote one.
 *
 * The local store alone decides: a put is durable once it is there, and damage there is never healed in silence. What
 * the remote lacks because it could not be reached is told as a warning and never costs a run its work. A blob that is
 * not here (another machine put it, or it was collected) is fetched, verified and kept.
 */
import type { Readable } from 'node:stream';

import type {
  BlobRef,
  BlobSource,
  BundleManifest,
  BundleRef,
  GcOptions,
  GcReport,
  MaterialiseOptions,
  PutBundleOptions,
  Store,
} from './contract.ts';
import { BlobMissingError } from './errors.ts';

const CONCURRENCY = 16;
/** Larger ones are sent as a stream. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
/** After a failure the remote is left alone for so long: a dead server must not slow down every put of a run. */
const REST_MS = 30_000;

export interface MirrorOptions {
  readonly local: Store;
  readonly remote: Store;
  /** Told, once per failure and rest, that the remote lacks something. */
  warn(message: string): void;
  /** Milliseconds, for the rest after a failure. */
  now(): number;
}

/** Opens a store that keeps everything in `local` and a copy of it in `remote`. */
export function openMirroredStore(options: MirrorOptions): Store {
  return new MirroredStore(options);
}

class MirroredStore implements Store {
  readonly #local: Store;
  readonly #remote: Store;
  readonly #options: MirrorOptions;
  #restsUntil = -Infinity;

  constructor(options: MirrorOptions) {
    this.#local = options.local;
    this.#remote = options.remote;
    this.#options = options;
  }

  async putBlob(source: BlobSource): Promise<BlobRef> {
    const ref = await this.#local.putBlob(source);
    await this.#mirror(ref.digest, () => this.#send(ref));
    return ref;
  }

  async putBundle(folder: string, options: PutBundleOptions = {}): Promise<BundleRef> {
    const ref = await this.#local.putBundle(folder, options);
    await this.#mirror(ref.hash, () => this.#sendBundle(ref.hash));
    return ref;
  }

  getBlob(digest: string): Promise<Buffer> {
    return this.#orFetch(
      () => this.#local.getBlob(digest),
      () => this.#fetch(digest),
    );
  }

  openBlob(digest: string): Promise<Readable> {
    return this.#orFetch(
      () => this.#local.openBlob(digest),
      () => this.#fetch(digest),
    );
  }

  async hasBlob(digest: string): Promise<boolean> {
    return (await this.#local.hasBlob(digest)) || (await this.#remote.hasBlob(digest));
  }

  readManifest(hash: string): Promise<BundleManifest> {
    return this.#orFetch(
      () => this.#local.readManifest(hash),
      () => this.#fetch(hash),
    );
  }

  materialise(hash: string, target: string, options: MaterialiseOptions = {}): Promise<BundleRef> {
    return this.#orFetch(
      () => this.#local.materialise(hash, target, options),
      () => this.#fetchBundle(hash),
    );
  }

  /** Here only: the bucket may be shared with projects whose roots we do not know. */
  gc(roots: Iterable<string>, options: GcOptions): Promise<GcReport> {
    return this.#local.gc(roots, options);
  }

  async #mirror(digest: string, send: () => Promise<void>): Promise<void> {
    if (this.#options.now() < this.#restsUntil) return;
    try {
      await send();
    } catch (error) {
      if (this.#options.now() < this.#restsUntil) return;
      this.#restsUntil = this.#options.now() + REST_MS;
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.warn(`${digest} and what follows is kept on this machine only: ${reason}`);
    }
  }

  async #send({ digest, size }: BlobRef): Promise<void> {
    if (await this.#remote.hasBlob(digest)) return;
    const isSmall = size <= MAX_BUFFERED_BYTES;
    await this.#remote.putBlob(await (isSmall ? this.#local.getBlob(digest) : this.#local.openBlob(digest)));
  }

  /** The manifest goes last: a bundle whose manifest is there is there as a whole. */
  async #sendBundle(hash: string): Promise<void> {
    if (await this.#remote.hasBlob(hash)) return;
    const { entries } = await this.#local.readManifest(hash);
    await forEachFile(entries, (file) => this.#send(file));
    await this.#remote.putBlob(await this.#local.getBlob(hash));
  }

  /** Only an absent blob is fetched; damage and unreadable files stay errors. */
  async #orFetch<T>(read: () => Promise<T>, fetch: () => Promise<void>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof BlobMissingError)) throw error;
      await fetch();
      return await read();
    }
  }

  async #fetch(digest: string): Promise<void> {
    await this.#local.putBlob(await this.#remote.openBlob(digest));
  }

  async #fetchBundle(hash: string): Promise<void> {
    const { entries } = await this.readManifest(hash);
    await forEachFile(entries, async ({ digest }) => {
      if (!(await this.#local.hasBlob(digest))) await this.#fetch(digest);
    });
  }
}

async function forEachFile(
  entries: BundleManifest['entries'],
  work: (file: BlobRef) => Promise<void>,
): Promise<void> {
  const files = new Map<string, BlobRef>();
  for (const entry of entries) if (entry.kind === 'file') files.set(entry.digest, entry);
  const queue = files.values();
  const run = async (): Promise<void> => {
    for (const file of queue) await work(file);
  };
  const ended = await Promise.allSettled(Array.from({ length: CONCURRENCY }, run));
  const failed = ended.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
