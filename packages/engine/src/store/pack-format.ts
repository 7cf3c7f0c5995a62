/**
 * A pack is one file with many blobs, so that a bundle of 700 small files costs one fsync and not 700.
 *
 *   blobs, one after the other, each behind its record · index · footer
 *   record  digest (32) · offset of the blob (u64 BE) · size (u64 BE)
 *   index   the records again, sorted by digest
 *   footer  magic (16) · number of records (u64 BE) · sha256 of the index (32)
 *
 * The file is named after the sha256 of its index. A pack never changes; it is written once and removed once. Only the
 * index says what is in it; the other records are for one whose index is damaged (`rebuild-pack.ts`), and packs of earlier
 * versions have none.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { createHash, hash } from 'node:crypto';

import { StoreCorruptError } from './errors.ts';

/** Larger blobs stay loose files, and packs up to this size count as such a file. */
export const MAX_SMALL_BYTES = 64 * 1024;
export const RECORD_BYTES = 48;
const MAGIC = Buffer.from('caisson-pack-1\n\0', 'latin1');
const FOOTER_BYTES = MAGIC.length + 8 + 32;
/** So much of an index is in memory at a time: 48 kB. */
const RECORDS_IN_STEP = 1024;

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
  sorted.forEach((blob, position) => writeRecord(index, position * RECORD_BYTES, blob));
  const name = hash('sha256', index);
  const footer = Buffer.alloc(FOOTER_BYTES);
  MAGIC.copy(footer);
  footer.writeBigUInt64BE(BigInt(sorted.length), MAGIC.length);
  footer.write(name, MAGIC.length + 8, 'hex');
  return { bytes: Buffer.concat([index, footer]), name };
}

/** What is written in front of the blob. */
export function encodeRecord(blob: PackedBlob): Buffer {
  const record = Buffer.allocUnsafe(RECORD_BYTES);
  writeRecord(record, 0, blob);
  return record;
}

function writeRecord(target: Buffer, at: number, { digest, offset, size }: PackedBlob): void {
  target.write(digest, at, 'hex');
  target.writeBigUInt64BE(BigInt(offset), at + 32);
  target.writeBigUInt64BE(BigInt(size), at + 40);
}

/** What is kept in memory of an index: four bytes of each digest. A record is read where it is needed. */
export interface PackIndex {
  /** Where the records begin in the file. */
  readonly begin: number;
  /** The first bytes of each digest, in order. */
  readonly heads: Uint32Array;
}

/** A named pipe in the place of a pack would wait for its writer, and a link may lead anywhere. */
export function openPackFile(file: string): number {
  return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

/** Reads and verifies the index of a pack file; `name` is its file name without `.pack`. */
export function readPackIndex(file: string, name: string): PackIndex {
  const fd = openPackFile(file);
  try {
    const { size } = fstatSync(fd);
    const corrupt = (detail: string) => new StoreCorruptError(name, file, detail);
    if (size < FOOTER_BYTES) throw corrupt('pack is cut short');
    const footer = readExactly(fd, size - FOOTER_BYTES, FOOTER_BYTES);
    if (footer === null || !footer.subarray(0, MAGIC.length).equals(MAGIC))
      throw corrupt('pack footer is damaged');
    const count = Number(footer.readBigUInt64BE(MAGIC.length));
    const begin = size - FOOTER_BYTES - count * RECORD_BYTES;
    if (begin < 0) throw corrupt('pack footer is damaged');
    const index = { begin, heads: new Uint32Array(count) };
    const digest = readHeads(fd, index);
    if (digest !== name || footer.toString('hex', MAGIC.length + 8) !== name)
      throw corrupt('pack index is damaged');
    return index;
  } finally {
    closeSync(fd);
  }
}

/** Fills in the heads; returns the sha256 of the whole index, or null if the file ends before. */
function readHeads(fd: number, { begin, heads }: PackIndex): string | null {
  const hashing = createHash('sha256');
  // One for all steps: what is allocated for each is only freed after many.
  const room = Buffer.allocUnsafe(Math.min(RECORDS_IN_STEP, heads.length) * RECORD_BYTES);
  for (let first = 0; first < heads.length; first += RECORDS_IN_STEP) {
    const count = Math.min(RECORDS_IN_STEP, heads.length - first);
    const records = room.subarray(0, count * RECORD_BYTES);
    if (!fillExactly(fd, begin + first * RECORD_BYTES, records)) return null;
    hashing.update(records);
    for (let number = 0; number < count; number += 1)
      heads[first + number] = records.readUInt32BE(number * RECORD_BYTES);
  }
  return hashing.digest('hex');
}

/** The records that may be of the digest, from the first to before the last: nearly always one or none. */
export function findHead({ heads }: PackIndex, digest: Buffer): readonly [first: number, end: number] {
  const wanted = digest.readUInt32BE(0);
  let [low, high] = [0, heads.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((heads[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < heads.length && heads[end] === wanted) end += 1;
  return [low, end];
}

/** Null when the pack does not have the digest. Throws a RangeError when the file has no such record any more. */
export function findInIndex(fd: number, index: PackIndex, digest: Buffer): PackedBlob | null {
  const wanted = digest.toString('hex');
  for (const blob of readRecords(fd, index, ...findHead(index, digest)))
    if (blob.digest === wanted) return blob;
  return null;
}

/** Throws a RangeError when the file ends before its records do. */
export function* walkIndex(fd: number, index: PackIndex): Generator<PackedBlob> {
  const { length } = index.heads;
  for (let first = 0; first < length; first += RECORDS_IN_STEP)
    yield* readRecords(fd, index, first, Math.min(first + RECORDS_IN_STEP, length));
}

/** One after the other: each is four times as large as its record. */
function* readRecords(fd: number, { begin }: PackIndex, first: number, end: number): Generator<PackedBlob> {
  if (end === first) return;
  const records = readExactly(fd, begin + first * RECORD_BYTES, (end - first) * RECORD_BYTES);
  if (records === null) throw new RangeError('pack is cut short');
  for (let at = 0; at < records.length; at += RECORD_BYTES) yield parseRecord(records, at);
}

/** The record at that place in the bytes. */
export function parseRecord(bytes: Buffer, at: number): PackedBlob {
  return {
    digest: bytes.toString('hex', at, at + 32),
    offset: readCount(bytes, at + 32),
    size: readCount(bytes, at + 40),
  };
}

/** Reads that many bytes, or null when the file ends before. */
export function readExactly(fd: number, position: number, length: number): Buffer | null {
  const bytes = Buffer.allocUnsafe(length);
  return fillExactly(fd, position, bytes) ? bytes : null;
}

/** False when the file ends before. */
function fillExactly(fd: number, position: number, bytes: Buffer): boolean {
  let filled = 0;
  while (filled < bytes.length) {
    const count = readSync(fd, bytes, filled, bytes.length - filled, position + filled);
    if (count === 0) return false;
    filled += count;
  }
  return true;
}

function readCount(index: Buffer, at: number): number {
  return Number(index.readBigUInt64BE(at));
}
