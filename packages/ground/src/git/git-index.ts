/** Reads git's index file (versions 2 to 4) for questions that would cost a process 3 ms. */
import type { BigIntStats } from 'node:fs';
import { findExtension, HASH_OFFSET, walkEntries } from './index-entries.ts';

export interface IndexSummary {
  readonly version: number;
  readonly entries: number;
  /** Paths, as bytes, of entries that name a commit of another repository. */
  readonly gitlinks: readonly Buffer[];
  /** Tracked `.gitattributes` files. */
  readonly attributeFiles: readonly Buffer[];
  /** Paths in the middle of a merge. */
  readonly conflicts: readonly Buffer[];
  /** Whether folders outside a sparse checkout represent all their files. */
  readonly hasSparseFolders: boolean;
  /** Object id of the shared half when the index is split. */
  readonly sharedIndex: string | null;
  /** The tree that `write-tree` would return, when the index remembers it. */
  readonly rootTree: string | null;
}

const GITLINK = 0o160000;
const NUL = Buffer.from([0]);
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

/** The needed part of the index's record of a file. */
export interface IndexedFile {
  readonly objectId: string;
  readonly mode: number;
  readonly sizeLow: number;
  readonly inodeLow: number;
  readonly changedAtNs: bigint;
  readonly mtimeSeconds: number;
  readonly mtimeNanoseconds: number;
}

/** The entries, outside of merges, whose path (its bytes in Latin-1) is wanted; null wants all. */
export function readIndexedFiles(
  index: Buffer,
  hashBytes: number,
  wanted: ReadonlySet<string> | null,
): Map<string, IndexedFile> {
  const found = new Map<string, IndexedFile>();
  walkEntries(index, hashBytes, ({ offset, mode, stage, path }) => {
    const key = path.toString('latin1');
    if (stage !== 0 || wanted?.has(key) === false) return;
    found.set(key, {
      objectId: index.toString('hex', offset + HASH_OFFSET, offset + HASH_OFFSET + hashBytes),
      mode,
      changedAtNs:
        BigInt(index.readUInt32BE(offset)) * 1_000_000_000n + BigInt(index.readUInt32BE(offset + 4)),
      mtimeSeconds: index.readUInt32BE(offset + 8),
      mtimeNanoseconds: index.readUInt32BE(offset + 12),
      inodeLow: index.readUInt32BE(offset + 20),
      sizeLow: index.readUInt32BE(offset + 36),
    });
  });
  return found;
}

/** As git judges it: a file whose size and time are those in the index, and that is older than the index. */
export function isAsIndexed(stats: BigIntStats, entry: IndexedFile, indexWrittenAtNs: bigint): boolean {
  const low = (value: bigint): number => Number(BigInt.asUintN(32, value));
  const second = 1_000_000_000n;
  return (
    low(stats.size) === entry.sizeLow &&
    low(stats.ino) === entry.inodeLow &&
    low(stats.mtimeNs / second) === entry.mtimeSeconds &&
    low(stats.mtimeNs % second) === entry.mtimeNanoseconds &&
    stats.mtimeNs < indexWrittenAtNs
  );
}

/** The tracked paths, as UTF-8, whose last part is one of `names`. */
export function listIndexedNames(index: Buffer, hashBytes: number, names: ReadonlySet<string>): string[] {
  const found = new Set<string>();
  walkEntries(index, hashBytes, ({ path }) => {
    if (names.has(path.toString('utf8', path.lastIndexOf(0x2f) + 1))) found.add(path.toString('utf8'));
  });
  return [...found];
}

/** The first tracked path that is `folder` or is in it. Throws `RangeError` for an unknown index format. */
export function findIndexedBelow(index: Buffer, folder: Buffer): Buffer | null {
  const inside = Buffer.concat([folder, Buffer.from('/')]);
  // Names are whole in versions 2 and 3: most often one search through the bytes is enough.
  const mayBeShortened = index.length >= 8 && index.readUInt32BE(4) > 3;
  if (!mayBeShortened && !index.includes(inside) && !index.includes(Buffer.concat([folder, NUL])))
    return null;
  const found: Buffer[] = [];
  walkAnyEntries(index, (path) => {
    if (path.equals(folder) || path.subarray(0, inside.length).equals(inside)) found.push(path);
  });
  return found[0] ?? null;
}

/** The length of the hashes is in the repository's settings; here both are tried, and either result counts. */
function walkAnyEntries(index: Buffer, visit: (path: Buffer) => void): void {
  let known = 0;
  for (const hashBytes of [20, 32]) {
    try {
      walkEntries(index, hashBytes, ({ path }) => visit(path));
      known += 1;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  if (known === 0) throw new RangeError('not a known git index');
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
