/**
 * A pack is one file with many blobs, so that a bundle of 700 small files costs one fsync and not 700.
 *
 *   blobs, one after the other · index · footer
 *   index   one record a blob, sorted by digest: digest (32) · offset (u64 BE) · size (u64 BE)
 *   footer  magic (16) · number of records (u64 BE) · sha256 of the index (32)
 *
 * The file is named after the sha256 of its index. A pack never changes; it is written once and removed once.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { hash } from 'node:crypto';

import { StoreCorruptError } from './errors.ts';

export const RECORD_BYTES = 48;
const MAGIC = Buffer.from('caisson-pack-1\n\0', 'latin1');
const FOOTER_BYTES = MAGIC.length + 8 + 32;

export interface PackedBlob {
  readonly digest: string;
  readonly offset: number;
  readonly size: number;
}

export interface EncodedIndex {
  /** Index and footer, written after the blobs. */
  readonly bytes: Buffer;
  /** Name of the pack without `.pack`. */
  readonly name: string;
}

export function encodePackIndex(blobs: readonly PackedBlob[]): EncodedIndex {
  const sorted = blobs.toSorted((left, right) => (left.digest < right.digest ? -1 : 1));
  const index = Buffer.alloc(sorted.length * RECORD_BYTES);
  sorted.forEach((blob, position) => {
    const at = position * RECORD_BYTES;
    index.write(blob.digest, at, 'hex');
    index.writeBigUInt64BE(BigInt(blob.offset), at + 32);
    index.writeBigUInt64BE(BigInt(blob.size), at + 40);
  });
  const name = hash('sha256', index);
  const footer = Buffer.alloc(FOOTER_BYTES);
  MAGIC.copy(footer);
  footer.writeBigUInt64BE(BigInt(sorted.length), MAGIC.length);
  footer.write(name, MAGIC.length + 8, 'hex');
  return { bytes: Buffer.concat([index, footer]), name };
}

/** Reads and verifies the index of a pack file; `name` is its file name without `.pack`. */
export function readPackIndex(file: string, name: string): Buffer {
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const corrupt = (detail: string) => new StoreCorruptError(name, file, detail);
    if (size < FOOTER_BYTES) throw corrupt('pack is cut short');
    const footer = readExactly(fd, size - FOOTER_BYTES, FOOTER_BYTES);
    if (footer === null || !footer.subarray(0, MAGIC.length).equals(MAGIC))
      throw corrupt('pack footer is damaged');
    const bytes = Number(footer.readBigUInt64BE(MAGIC.length)) * RECORD_BYTES;
    if (bytes > size - FOOTER_BYTES) throw corrupt('pack footer is damaged');
    const index = readExactly(fd, size - FOOTER_BYTES - bytes, bytes);
    const digest = index === null ? '' : hash('sha256', index);
    if (index === null || digest !== name || footer.toString('hex', MAGIC.length + 8) !== name) {
      throw corrupt('pack index is damaged');
    }
    return index;
  } finally {
    closeSync(fd);
  }
}

/** Binary search; null when the pack does not have the digest. */
export function findInIndex(index: Buffer, digest: Buffer): { offset: number; size: number } | null {
  let low = 0;
  let high = index.length / RECORD_BYTES - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const at = middle * RECORD_BYTES;
    const order = index.compare(digest, 0, 32, at, at + 32);
    if (order === 0) return { offset: readCount(index, at + 32), size: readCount(index, at + 40) };
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return null;
}

/** One after the other: there may be millions, and each is four times as large as its record. */
export function* walkIndex(index: Buffer): Generator<PackedBlob> {
  for (let at = 0; at < index.length; at += RECORD_BYTES)
    yield {
      digest: index.toString('hex', at, at + 32),
      offset: readCount(index, at + 32),
      size: readCount(index, at + 40),
    };
}

/** Reads that many bytes, or null when the file ends before. */
export function readExactly(fd: number, position: number, length: number): Buffer | null {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(fd, bytes, filled, length - filled, position + filled);
    if (count === 0) return null;
    filled += count;
  }
  return bytes;
}

function readCount(index: Buffer, at: number): number {
  return Number(index.readBigUInt64BE(at));
}
