import { close, open, rm, writev } from 'node:fs';
import { promisify } from 'node:util';

import { publishFile } from '@caisson/ground';

import { createTempPath, ensureFolder, packFile, type LocalLayout } from './local-layout.ts';
import { encodePackIndex, encodeRecord, RECORD_BYTES, type PackedBlob } from './pack-format.ts';

const FLUSH_BYTES = 4 * 1024 * 1024;
/** IOV_MAX on Linux. */
const FLUSH_PIECES = 1024;

const openFile = promisify(open);
const closeFile = promisify(close);
const removeFile = promisify(rm);

/** Writes one pack: any number of `add`, then `commit` or `abandon`. Nothing is visible before `commit` resolves. */
export class PackWriter {
  readonly #layout: LocalLayout;
  readonly #blobs = new Map<string, PackedBlob>();
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #offset = 0;
  #temp: { path: string; fd: number } | null = null;

  constructor(layout: LocalLayout) {
    this.#layout = layout;
  }

  has(digest: string): boolean {
    return this.#blobs.has(digest);
  }

  get count(): number {
    return this.#blobs.size;
  }

  /** Keeps the bytes; they must not be changed afterwards. */
  async add(digest: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0 || this.#blobs.has(digest)) return; // `EMPTY_DIGEST` needs no place
    const blob = { digest, offset: this.#offset + RECORD_BYTES, size: bytes.length };
    this.#blobs.set(digest, blob);
    this.#offset = blob.offset + blob.size;
    this.#pending.push(encodeRecord(blob), bytes);
    this.#pendingBytes += RECORD_BYTES + blob.size;
    if (this.#pendingBytes >= FLUSH_BYTES || this.#pending.length >= FLUSH_PIECES) await this.#flush();
  }

  /** Makes the pack durable and visible; returns its name. */
  async commit(): Promise<string> {
    const index = encodePackIndex([...this.#blobs.values()]);
    this.#pending.push(index.bytes);
    await this.#flush();
    const temp = this.#temp;
    if (temp === null) throw new Error('a pack without content was committed');
    await closeFile(temp.fd);
    this.#temp = null;
    ensureFolder(this.#layout.packs);
    await publishFile(temp.path, packFile(this.#layout, index.name));
    return index.name;
  }

  /** Safe to call at any time, also after `commit`. */
  async abandon(): Promise<void> {
    const temp = this.#temp;
    if (temp === null) return;
    this.#temp = null;
    await closeFile(temp.fd);
    await removeFile(temp.path, { force: true });
  }

  async #flush(): Promise<void> {
    if (this.#temp === null) {
      const path = createTempPath(this.#layout);
      this.#temp = { path, fd: await openFile(path, 'wx', 0o600) };
    }
    const pieces = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    await writeAll(this.#temp.fd, pieces);
  }
}

/** writev may write less than requested; the rest is written again. */
async function writeAll(fd: number, pieces: Uint8Array[]): Promise<void> {
  let rest = pieces;
  while (rest.length > 0) {
    const written = await writeSome(fd, rest.slice(0, FLUSH_PIECES));
    rest = dropBytes(rest, written);
  }
}

function writeSome(fd: number, pieces: Uint8Array[]): Promise<number> {
  return new Promise((resolve, reject) => {
    writev(fd, pieces, (error, written) => (error === null ? resolve(written) : reject(error)));
  });
}

function dropBytes(pieces: Uint8Array[], count: number): Uint8Array[] {
  let left = count;
  for (const [index, piece] of pieces.entries()) {
    if (left < piece.length) return [piece.subarray(left), ...pieces.slice(index + 1)];
    left -= piece.length;
  }
  return [];
}
