/**
 * The layout of git's index file, versions 2 to 4. An index may come from a stranger, and git trusts its paths: it reads
 * and writes files there. So one that git could read in another way than this code, or that has a path which git itself
 * never adds, is no index.
 */
import { createHash } from 'node:crypto';

const MODE_OFFSET = 24;
/** Where an entry's object id begins. */
export const HASH_OFFSET = 40;
export const ASSUME_UNCHANGED = 0x8000;
const EXTENDED = 0x4000;
/** The length of the name; the largest value means "this long, or longer". */
const NAME_LENGTH = 0x0fff;
/** In the second word of flags. */
export const SKIP_WORKTREE = 0x4000;
const INTENT_TO_ADD = 0x2000;

export interface IndexEntry {
  readonly offset: number;
  readonly mode: number;
  readonly stage: number;
  readonly isAssumedUnchanged: boolean;
  readonly isSkipWorktree: boolean;
  /** Named by `git add -N`, without content. */
  readonly isIntentToAdd: boolean;
  readonly path: Buffer;
}

/** Visits every entry; returns where they end. Throws `RangeError` for an unknown index format. */
export function walkEntries(index: Buffer, hashBytes: number, visit: (entry: IndexEntry) => void): number {
  if (index.length < 12 + hashBytes || index.toString('latin1', 0, 4) !== 'DIRC') {
    throw new RangeError('not a git index');
  }
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) throw new RangeError(`git index version ${version} is unknown`);
  const count = index.readUInt32BE(8);
  let at = 12;
  let previous: Buffer = Buffer.alloc(0);
  for (let number = 0; number < count; number += 1) {
    const offset = at;
    const flags = index.readUInt16BE(offset + HASH_OFFSET + hashBytes);
    const isExtended = (flags & EXTENDED) !== 0;
    if (isExtended && version === 2) throw new RangeError('git index has flags of a later version');
    const extended = isExtended ? index.readUInt16BE(offset + HASH_OFFSET + hashBytes + 2) : 0;
    const nameAt = offset + HASH_OFFSET + hashBytes + 2 + (isExtended ? 2 : 0);
    const name =
      version === 4 ? readCompressedName(index, nameAt, previous) : readPaddedName(index, nameAt, offset);
    if ((flags & NAME_LENGTH) !== Math.min(name.path.length, NAME_LENGTH) || !isInsidePath(name.path))
      throw new RangeError('git index has a name that git would not add');
    previous = name.path;
    at = name.next;
    visit({
      offset,
      mode: index.readUInt32BE(offset + MODE_OFFSET),
      stage: (flags >> 12) & 3,
      isAssumedUnchanged: (flags & ASSUME_UNCHANGED) !== 0,
      isSkipWorktree: (extended & SKIP_WORKTREE) !== 0,
      isIntentToAdd: (extended & INTENT_TO_ADD) !== 0,
      path: name.path,
    });
  }
  return at;
}

const SLASH = 0x2f;
const DOT = 0x2e;
/** `git`, in lower case. */
const GIT = [0x67, 0x69, 0x74] as const;
const LOWER = 0x20;

/**
 * Whether a path stays in the work tree and out of `.git`, as git's own `verify_path` judges it. A split index leaves out
 * names that its shared half has.
 */
function isInsidePath(path: Buffer): boolean {
  let from = 0;
  while (from < path.length) {
    const slash = path.indexOf(SLASH, from);
    const end = slash === -1 ? path.length : slash;
    if (!isOrdinaryName(path, from, end)) return false;
    from = end + 1; // a folder of a sparse index ends with its slash
  }
  return true;
}

function isOrdinaryName(path: Buffer, from: number, end: number): boolean {
  const length = end - from;
  if (length === 0) return false;
  if (path[from] !== DOT) return true;
  if (length === 1 || (length === 2 && path[from + 1] === DOT)) return false;
  return length !== 4 || GIT.some((letter, at) => ((path[from + 1 + at] ?? 0) | LOWER) !== letter);
}

function readPaddedName(index: Buffer, nameAt: number, entryAt: number): { path: Buffer; next: number } {
  const end = index.indexOf(0, nameAt);
  if (end === -1) throw new RangeError('git index ends inside a name');
  return { path: index.subarray(nameAt, end), next: entryAt + Math.floor((end - entryAt + 8) / 8) * 8 };
}

/** Version 4: how many bytes to drop from the previous name (git's offset varint), then the rest. */
function readCompressedName(index: Buffer, nameAt: number, previous: Buffer): { path: Buffer; next: number } {
  let at = nameAt;
  let byte = index.readUInt8(at);
  let drop = byte & 0x7f;
  while ((byte & 0x80) !== 0) {
    at += 1;
    byte = index.readUInt8(at);
    drop = ((drop + 1) << 7) | (byte & 0x7f);
  }
  const end = index.indexOf(0, at + 1);
  if (end === -1 || drop > previous.length) throw new RangeError('git index ends inside a name');
  const path = Buffer.concat([previous.subarray(0, previous.length - drop), index.subarray(at + 1, end)]);
  return { path, next: end + 1 };
}

/** The content of an extension; null when it does not exist. */
export function findExtension(index: Buffer, from: number, hashBytes: number, name: string): Buffer | null {
  let at = from;
  while (at + 8 <= index.length - hashBytes) {
    const size = index.readUInt32BE(at + 4);
    if (index.toString('latin1', at, at + 4) === name) return index.subarray(at + 8, at + 8 + size);
    at += 8 + size;
  }
  return null;
}

/** The same index without extensions except git's trees: others may say where else git begins to read. */
export function dropExtensions(index: Buffer, hashBytes: number): Buffer {
  const end = walkEntries(index, hashBytes, () => undefined);
  const trees = findExtension(index, end, hashBytes, 'TREE');
  const kept = trees === null ? [] : [Buffer.from('TREE'), sizeOf(trees), trees];
  const whole = Buffer.concat([index.subarray(0, end), ...kept, index.subarray(index.length - hashBytes)]);
  sealIndex(whole, hashBytes);
  return whole;
}

function sizeOf(extension: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(extension.length);
  return size;
}

/** The hash at the end; an index may lack it (`index.skipHash`). */
export function sealIndex(index: Buffer, hashBytes: number): void {
  const bodyEnd = index.length - hashBytes;
  const isUnhashed = index.subarray(bodyEnd).every((byte) => byte === 0);
  if (isUnhashed) return;
  createHash(hashBytes === 32 ? 'sha256' : 'sha1')
    .update(index.subarray(0, bodyEnd))
    .digest()
    .copy(index, bodyEnd);
}
