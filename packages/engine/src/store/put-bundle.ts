/** Puts a folder into a local store: small files together in one pack, large ones as loose blobs. */
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  openSync,
  realpathSync,
  statSync,
  type BigIntStats,
} from 'node:fs';
import { join } from 'node:path';
import { shareTurn } from '@caisson/ground';

import { encodeManifest } from './bundle-manifest.ts';
import { refuseExcess, walkFolder, type FoundEntry, type FoundFile } from './bundle-walk.ts';
import type { BundleEntry, BundleRef, PutBundleOptions } from './contract.ts';
import { digestOf } from './digest.ts';
import { BundleRefusedError, StoreAccessError } from './errors.ts';
import type { BlobPlace } from './blob-place.ts';
import type { LocalBlobs } from './local-blobs.ts';
import { readExactly } from './pack-format.ts';
import { PackWriter } from './pack-writer.ts';
import { StatCache } from './stat-cache.ts';

/** Larger files stay loose: they can be cloned or linked when materialised. */
const MAX_PACKED_BYTES = 1024 * 1024;
const ATTEMPTS = 3;

export async function putBundleLocally(
  blobs: LocalBlobs,
  folder: string,
  options: PutBundleOptions,
): Promise<BundleRef> {
  const root = resolveFolder(folder);
  for (let attempt = 1; ; attempt += 1) {
    const put = new BundlePut(blobs, root, options);
    try {
      const ref = await put.run();
      if (ref !== null) return ref;
    } finally {
      await put.abandon();
    }
    // A gc removed what we reused: the put took longer than its grace period. What we wrote since is young.
    if (attempt >= ATTEMPTS)
      throw new StoreAccessError(`store ${blobs.layout.root} keeps changing under a put; try again`);
  }
}

/** The real path of a folder that is to become a bundle. */
export function resolveFolder(folder: string): string {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) {
    throw new BundleRefusedError(
      'not-a-folder',
      folder,
      stats === undefined ? 'does not exist' : 'is not a folder',
    );
  }
  return realpathSync(folder);
}

class BundlePut {
  readonly #blobs: LocalBlobs;
  readonly #root: string;
  readonly #options: PutBundleOptions;
  readonly #cache: StatCache;
  readonly #pack: PackWriter;
  readonly #reused = new Map<string, BlobPlace>();
  /** Packs that were touched, and whether they were still there. */
  readonly #packs = new Map<string, boolean>();
  #bytes = 0n;

  constructor(blobs: LocalBlobs, root: string, options: PutBundleOptions) {
    this.#blobs = blobs;
    this.#root = root;
    this.#options = options;
    this.#cache = new StatCache(blobs.layout, root);
    this.#pack = new PackWriter(blobs.layout);
  }

  /** null when a reused blob vanished meanwhile. */
  async run(): Promise<BundleRef | null> {
    this.#blobs.packs.refresh();
    const found = await walkFolder(this.#root, this.#options);
    const entries: BundleEntry[] = [];
    for (const entry of found) {
      entries.push(await this.#resolve(entry));
      await shareTurn(this.#options.signal);
    }
    const manifest = encodeManifest(entries);
    if (!this.#reuse(manifest.ref.hash, manifest.bytes.length))
      await this.#pack.add(manifest.ref.hash, manifest.bytes);
    if (this.#pack.count > 0) await this.#pack.commit();
    if (!this.#touchReused()) return null;
    await this.#cache.save();
    return manifest.ref;
  }

  abandon(): Promise<void> {
    return this.#pack.abandon();
  }

  async #resolve(entry: FoundEntry): Promise<BundleEntry> {
    if (entry.kind !== 'file') return entry;
    const cached = this.#cache.find(entry.path, entry.stats);
    if (cached !== null && this.#reuse(cached, Number(entry.stats.size)))
      return describeFile(entry, entry.stats, cached);
    return entry.stats.size > MAX_PACKED_BYTES ? await this.#putLarge(entry) : await this.#putSmall(entry);
  }

  async #putSmall(entry: FoundFile): Promise<BundleEntry> {
    const readAtMs = Date.now();
    const { stats, bytes } = readStill(join(this.#root, entry.path), entry.path);
    this.#count(stats.size, entry.path);
    const digest = digestOf(bytes);
    if (!this.#pack.has(digest) && !this.#reuse(digest, bytes.length)) await this.#pack.add(digest, bytes);
    this.#cache.remember(entry.path, stats, digest, readAtMs);
    return describeFile(entry, stats, digest);
  }

  async #putLarge(entry: FoundFile): Promise<BundleEntry> {
    const readAtMs = Date.now();
    const fd = openSource(join(this.#root, entry.path), entry.path);
    try {
      const stats = fstatSync(fd, { bigint: true });
      this.#count(stats.size, entry.path);
      const source = createReadStream('', { fd, autoClose: false, start: 0, highWaterMark: 256 * 1024 });
      const { digest, size } = await this.#blobs.putStream(source, this.#options.signal);
      refuseMoved(stats, fstatSync(fd, { bigint: true }), size, entry.path);
      this.#cache.remember(entry.path, stats, digest, readAtMs);
      return describeFile(entry, stats, digest);
    } finally {
      closeSync(fd);
    }
  }

  /** A file may have grown since the folder was walked, so the limit is checked on what was read. */
  #count(size: bigint, path: string): void {
    this.#bytes += size;
    refuseExcess(0, this.#bytes, path, this.#options);
  }

  /** Touched at once: from here on gc sees that it is used. What cannot be touched is gone, or about to be. */
  #reuse(digest: string, size: number): boolean {
    if (this.#reused.has(digest)) return true;
    const place = this.#blobs.findKnown(digest);
    if (place === null || place.size !== size || !this.#touchOnce(digest, place)) return false;
    this.#reused.set(digest, place);
    return true;
  }

  #touchOnce(digest: string, place: BlobPlace): boolean {
    if (place.kind !== 'packed') return this.#blobs.touch(digest, place);
    const known = this.#packs.get(place.name);
    if (known !== undefined) return known;
    const isThere = this.#blobs.packs.touch(place.name);
    this.#packs.set(place.name, isThere);
    return isThere;
  }

  /** Once more at the end, because a long put may outlast gc's grace period. */
  #touchReused(): boolean {
    const packs = new Set<string>();
    for (const [digest, place] of this.#reused) {
      if (place.kind === 'packed' && packs.has(place.name)) continue;
      if (!this.#blobs.touch(digest, place)) return false;
      if (place.kind === 'packed') packs.add(place.name);
    }
    return true;
  }
}

function describeFile(entry: FoundFile, stats: BigIntStats, digest: string): BundleEntry {
  const isExecutable = (stats.mode & 0o100n) !== 0n;
  return {
    kind: 'file',
    path: entry.path,
    mode: isExecutable ? '755' : '644',
    digest,
    size: Number(stats.size),
  };
}

/** Never follows a link and never blocks on a pipe that replaced the file after the walk. */
function openSource(file: string, path: string): number {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ELOOP')) {
      throw new BundleRefusedError(
        'changed-while-reading',
        path,
        `vanished or became a link (${cause.code})`,
      );
    }
    throw new StoreAccessError(`cannot read ${file}: ${String(cause)}`, { cause });
  }
}

/** Reads a small file whose stats are the same before and after. */
export function readStill(file: string, path: string): { stats: BigIntStats; bytes: Buffer } {
  const fd = openSource(file, path);
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (!stats.isFile()) throw new BundleRefusedError('changed-while-reading', path, 'changed its kind');
    const bytes = readExactly(fd, 0, Number(stats.size));
    refuseMoved(stats, fstatSync(fd, { bigint: true }), bytes?.length ?? -1, path);
    return { stats, bytes: bytes ?? Buffer.alloc(0) };
  } finally {
    closeSync(fd);
  }
}

function refuseMoved(before: BigIntStats, after: BigIntStats, read: number, path: string): void {
  const isStill =
    before.size === after.size && before.mtimeNs === after.mtimeNs && before.ctimeNs === after.ctimeNs;
  if (isStill && BigInt(read) === before.size) return;
  throw new BundleRefusedError(
    'changed-while-reading',
    path,
    'was written to while it was read; stop the writer and try again',
  );
}
