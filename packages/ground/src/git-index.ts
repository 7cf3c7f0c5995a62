/** Reads git's index file (versions 2 to 4) far enough to answer what a process would cost 3 ms to ask. */
import { createHash } from 'node:crypto';

export interface IndexSummary {
  readonly version: number;
  readonly entries: number;
  /** Paths, as bytes, of entries that name a commit of another repository. */
  readonly gitlinks: readonly Buffer[];
  /** Tracked `.gitattributes` files. */
  readonly attributeFiles: readonly Buffer[];
  /** Paths in the middle of a merge. */
  readonly conflicts: readonly Buffer[];
  /** Whether folders outside a sparse checkout stand for all their files. */
  readonly hasSparseFolders: boolean;
  /** Object id of the shared half when the index is split. */
  readonly sharedIndex: string | null;
  /** The tree that `write-tree` would give, when the index remembers it. */
  readonly rootTree: string | null;
}

const MODE_OFFSET = 24;
const STAT_BEFORE_MODE = 24;
const STAT_AFTER_MODE = 28;
const HASH_OFFSET = 40;
const GITLINK = 0o160000;
const ASSUME_UNCHANGED = 0x8000;
const EXTENDED = 0x4000;
/** In the second word of flags. */
const SKIP_WORKTREE = 0x4000;
const ATTRIBUTES = Buffer.from('.gitattributes');

/** Throws `RangeError` on anything that is not an index this code knows. */
export function readIndexSummary(index: Buffer, hashBytes: number): IndexSummary {
  const gitlinks: Buffer[] = [];
  const attributeFiles: Buffer[] = [];
  const conflicts: Buffer[] = [];
  const end = walkEntries(index, hashBytes, (entry) => {
    if (entry.mode === GITLINK) gitlinks.push(entry.path);
    if (isAttributesFile(entry.path)) attributeFiles.push(entry.path);
    if (entry.stage !== 0) conflicts.push(entry.path);
  });
  return {
    version: index.readUInt32BE(4),
    entries: index.readUInt32BE(8),
    gitlinks,
    attributeFiles,
    conflicts,
    hasSparseFolders: findExtension(index, end, hashBytes, 'sdir') !== null,
    sharedIndex: findExtension(index, end, hashBytes, 'link')?.toString('hex', 0, hashBytes) ?? null,
    rootTree: readRootTree(findExtension(index, end, hashBytes, 'TREE'), hashBytes),
  };
}

/** What the index remembers of a file, as far as anybody asks. */
export interface IndexedFile {
  readonly objectId: string;
  readonly sizeLow: number;
  readonly inodeLow: number;
  readonly mtimeSeconds: number;
  readonly mtimeNanoseconds: number;
}

/** The entries, outside of merges, whose path (its bytes in Latin-1) is wanted. */
export function readIndexedFiles(
  index: Buffer,
  hashBytes: number,
  wanted: ReadonlySet<string>,
): Map<string, IndexedFile> {
  const found = new Map<string, IndexedFile>();
  walkEntries(index, hashBytes, ({ offset, stage, path }) => {
    const key = path.toString('latin1');
    if (stage !== 0 || !wanted.has(key)) return;
    found.set(key, {
      objectId: index.toString('hex', offset + HASH_OFFSET, offset + HASH_OFFSET + hashBytes),
      mtimeSeconds: index.readUInt32BE(offset + 8),
      mtimeNanoseconds: index.readUInt32BE(offset + 12),
      inodeLow: index.readUInt32BE(offset + 20),
      sizeLow: index.readUInt32BE(offset + 36),
    });
  });
  return found;
}

/**
 * The same index without its memory of file times and sizes, so that git looks into every file again. Needed
 * where the recorded blob is not the file's own bytes: line-ending conversion, filters, encodings.
 */
export function forgetIndexStats(index: Buffer, hashBytes: number): Buffer {
  const copy = Buffer.from(index);
  walkEntries(copy, hashBytes, (entry) => forgetStat(copy, entry));
  sealIndex(copy, hashBytes);
  return copy;
}

/**
 * The same index without the marks that make git look away: "assume unchanged" everywhere, and "skip worktree" where
 * `isPresent` says that there is a file after all. Null when there is nothing to take away.
 */
export function revealEntries(
  index: Buffer,
  hashBytes: number,
  isPresent: (path: Buffer) => boolean,
): Buffer | null {
  const copy = Buffer.from(index);
  let isChanged = false;
  walkEntries(copy, hashBytes, (entry) => {
    const isSkipped = entry.isSkipWorktree;
    if (!isSkipped && !entry.isAssumedUnchanged) return;
    if (isSkipped && !isPresent(entry.path)) return;
    const flagsAt = entry.offset + HASH_OFFSET + hashBytes;
    copy.writeUInt16BE(copy.readUInt16BE(flagsAt) & ~ASSUME_UNCHANGED, flagsAt);
    if (isSkipped) copy.writeUInt16BE(copy.readUInt16BE(flagsAt + 2) & ~SKIP_WORKTREE, flagsAt + 2);
    forgetStat(copy, entry);
    isChanged = true;
  });
  if (!isChanged) return null;
  sealIndex(copy, hashBytes);
  return copy;
}

function forgetStat(index: Buffer, entry: IndexEntry): void {
  index.fill(0, entry.offset, entry.offset + STAT_BEFORE_MODE);
  index.fill(0, entry.offset + STAT_AFTER_MODE, entry.offset + HASH_OFFSET);
}

/** Whether the index can have "skip worktree" marks at all; told by its first bytes. */
export function mayHaveSkipped(head: Buffer): boolean {
  return head.length >= 8 && head.readUInt32BE(4) >= 3;
}

/** The hash at the end; an index may go without (`index.skipHash`). */
function sealIndex(index: Buffer, hashBytes: number): void {
  const bodyEnd = index.length - hashBytes;
  const isUnhashed = index.subarray(bodyEnd).every((byte) => byte === 0);
  if (isUnhashed) return;
  createHash(hashBytes === 32 ? 'sha256' : 'sha1')
    .update(index.subarray(0, bodyEnd))
    .digest()
    .copy(index, bodyEnd);
}

interface IndexEntry {
  readonly offset: number;
  readonly mode: number;
  readonly stage: number;
  readonly isAssumedUnchanged: boolean;
  readonly isSkipWorktree: boolean;
  readonly path: Buffer;
}

function walkEntries(index: Buffer, hashBytes: number, visit: (entry: IndexEntry) => void): number {
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
    const isExtended = version >= 3 && (flags & EXTENDED) !== 0;
    const extended = isExtended ? index.readUInt16BE(offset + HASH_OFFSET + hashBytes + 2) : 0;
    const nameAt = offset + HASH_OFFSET + hashBytes + 2 + (isExtended ? 2 : 0);
    const name =
      version === 4 ? readCompressedName(index, nameAt, previous) : readPaddedName(index, nameAt, offset);
    previous = name.path;
    at = name.next;
    visit({
      offset,
      mode: index.readUInt32BE(offset + MODE_OFFSET),
      stage: (flags >> 12) & 3,
      isAssumedUnchanged: (flags & ASSUME_UNCHANGED) !== 0,
      isSkipWorktree: (extended & SKIP_WORKTREE) !== 0,
      path: name.path,
    });
  }
  return at;
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

function findExtension(index: Buffer, from: number, hashBytes: number, name: string): Buffer | null {
  let at = from;
  while (at + 8 <= index.length - hashBytes) {
    const size = index.readUInt32BE(at + 4);
    if (index.toString('latin1', at, at + 4) === name) return index.subarray(at + 8, at + 8 + size);
    at += 8 + size;
  }
  return null;
}

/** The root comes first: an empty name, the number of entries (-1 when out of date), the id. */
function readRootTree(extension: Buffer | null, hashBytes: number): string | null {
  if (extension === null || extension[0] !== 0) return null;
  const lineEnd = extension.indexOf(0x0a);
  if (lineEnd === -1 || !/^\d+ \d+$/.test(extension.toString('latin1', 1, lineEnd))) return null;
  return extension.toString('hex', lineEnd + 1, lineEnd + 1 + hashBytes);
}

function isAttributesFile(path: Buffer): boolean {
  if (path.length < ATTRIBUTES.length || !path.subarray(-ATTRIBUTES.length).equals(ATTRIBUTES)) return false;
  return path.length === ATTRIBUTES.length || path.at(-ATTRIBUTES.length - 1) === 0x2f;
}
