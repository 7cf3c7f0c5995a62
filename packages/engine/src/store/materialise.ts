/**
 * Writes a bundle to a folder. The tree is built beside the target and moved there in one rename, so a target is either
 * complete or untouched. Every file's bytes are hashed while they are written.
 *
 * How a file gets its content, cheapest first:
 *  - clone (reflink), when the blob is a loose file and the file system can share blocks;
 *  - hard link, only when the caller promised a read-only target and the file is not executable, because a link shares
 *    the store's inode, mode included;
 *  - copy.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  createWriteStream,
  fchmodSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { rename } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { removeFileSync, shareTurn } from '@caisson/ground';

import { describe } from './bundle-manifest.ts';
import type { BundleEntry, BundleManifest, BundleRef, MaterialiseOptions } from './contract.ts';
import { HashingStream } from './digest.ts';
import { StoreCorruptError, TargetOccupiedError } from './errors.ts';

type FileEntry = Extract<BundleEntry, { kind: 'file' }>;

/** Larger blobs are streamed. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

/** Where materialise gets verified bytes from. */
export interface BlobReader {
  read(digest: string): Promise<Buffer> | Buffer;
  open(digest: string): Promise<Readable>;
  /** The file that is exactly this blob, if the store has one on this machine. */
  findFile(digest: string): string | null;
  /** How many files are worth fetching at the same time. */
  readonly concurrency: number;
}

export async function materialiseBundle(
  reader: BlobReader,
  hash: string,
  manifest: BundleManifest,
  target: string,
  options: MaterialiseOptions,
): Promise<BundleRef> {
  const folder = resolve(target);
  refuseOccupied(folder);
  mkdirSync(dirname(folder), { recursive: true });
  const staging = join(
    dirname(folder),
    `.${basename(folder).slice(0, 100)}.caisson-${randomBytes(6).toString('hex')}`,
  );
  try {
    mkdirSync(staging, { mode: 0o755 });
    await new TreeWriter(reader, staging, options).write(manifest.entries);
    await rename(staging, folder);
  } catch (cause) {
    rmSync(staging, { recursive: true, force: true });
    if (isOccupied(cause)) throw occupied(folder);
    throw cause;
  }
  return describe(hash, manifest.entries);
}

class TreeWriter {
  readonly #reader: BlobReader;
  readonly #root: string;
  readonly #options: MaterialiseOptions;
  readonly #made = new Set(['']);
  /** Modes that the umask does not change, found with the first file of each. */
  readonly #exactModes = new Map<number, boolean>();
  #canClone = true;
  #canLink = true;

  constructor(reader: BlobReader, root: string, options: MaterialiseOptions) {
    this.#reader = reader;
    this.#root = root;
    this.#options = options;
    this.#canLink = options.readOnly === true;
  }

  async write(entries: readonly BundleEntry[]): Promise<void> {
    const queue = entries.values();
    const work = async (): Promise<void> => {
      for (const entry of queue) {
        await this.#writeEntry(entry);
        await shareTurn(this.#options.signal);
      }
    };
    const workers = Array.from({ length: Math.min(this.#reader.concurrency, entries.length) }, work);
    const ended = await Promise.allSettled(workers);
    const failed = ended.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #writeEntry(entry: BundleEntry): Promise<void> {
    const file = join(this.#root, entry.path);
    if (entry.kind === 'folder') return this.#makeFolder(entry.path);
    this.#makeFolder(entry.path.slice(0, Math.max(0, entry.path.lastIndexOf('/'))));
    if (entry.kind === 'link') return symlinkSync(entry.target, file);
    if (await this.#shareBlob(entry, file)) return;
    if (entry.size > MAX_BUFFERED_BYTES) return await this.#stream(entry, file);
    const read = this.#reader.read(entry.digest);
    this.#writeBytes(file, read instanceof Promise ? await read : read, this.#modeOf(entry));
  }

  #makeFolder(path: string): void {
    if (this.#made.has(path)) return;
    mkdirSync(join(this.#root, path), { recursive: true, mode: 0o755 });
    this.#made.add(path);
  }

  #modeOf(entry: FileEntry): number {
    const mode = entry.mode === '755' ? 0o755 : 0o644;
    return this.#options.readOnly === true ? mode & 0o555 : mode;
  }

  #writeBytes(file: string, bytes: Buffer, mode: number): void {
    const fd = openSync(file, 'wx', mode);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
      this.#fixMode(fd, mode);
    } finally {
      closeSync(fd);
    }
  }

  #fixMode(fd: number, mode: number): void {
    let isExact = this.#exactModes.get(mode);
    if (isExact === undefined) {
      isExact = (fstatSync(fd).mode & 0o777) === mode;
      this.#exactModes.set(mode, isExact);
    }
    if (!isExact) fchmodSync(fd, mode);
  }

  async #stream(entry: FileEntry, file: string): Promise<void> {
    const mode = this.#modeOf(entry);
    const source = await this.#reader.open(entry.digest);
    await pipeline(source, createWriteStream(file, { flags: 'wx', mode }), { signal: this.#options.signal });
    chmodSync(file, mode);
  }

  /** Clone or hard link, then hash the target's content. */
  async #shareBlob(entry: FileEntry, file: string): Promise<boolean> {
    if (!this.#canClone && !this.#canLink) return false;
    const source = this.#reader.findFile(entry.digest);
    if (source === null) return false;
    if (this.#tryClone(source, file)) {
      await verifyFile(entry, file);
      chmodSync(file, this.#modeOf(entry));
      return true;
    }
    if (entry.mode === '755' || !this.#tryLink(source, file)) return false;
    await verifyFile(entry, source);
    return true;
  }

  #tryClone(source: string, file: string): boolean {
    if (!this.#canClone) return false;
    this.#canClone = succeeds(() =>
      copyFileSync(source, file, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL),
    );
    if (!this.#canClone) removeFileSync(file);
    return this.#canClone;
  }

  #tryLink(source: string, file: string): boolean {
    if (!this.#canLink) return false;
    this.#canLink = succeeds(() => linkSync(source, file));
    return this.#canLink;
  }
}

/** A failed way of sharing (other device, not supported, too many links) is not tried again; copying reports why. */
function succeeds(share: () => void): boolean {
  try {
    share();
    return true;
  } catch {
    return false; // the copy that follows reports a real fault
  }
}

async function verifyFile(entry: FileEntry, file: string): Promise<void> {
  const hashing = new HashingStream();
  hashing.resume();
  await pipeline(createReadStream(file, { highWaterMark: 256 * 1024 }), hashing);
  if (hashing.digest !== entry.digest) {
    throw new StoreCorruptError(entry.digest, file, `content hashes to ${hashing.digest}`);
  }
}

function refuseOccupied(folder: string): void {
  try {
    if (readdirSync(folder).length > 0) throw occupied(folder);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return;
    if (isOccupied(cause)) throw occupied(folder);
    throw cause;
  }
}

function isOccupied(cause: unknown): boolean {
  const codes = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'];
  return (
    cause instanceof Error && 'syscall' in cause && 'code' in cause && codes.includes(String(cause.code))
  );
}

function occupied(folder: string): TargetOccupiedError {
  return new TargetOccupiedError(
    `cannot materialise into ${folder}: it is not an empty folder; choose another or empty it`,
  );
}
