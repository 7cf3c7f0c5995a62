/**
 * The trees of an index, as `git write-tree` makes them, without a process. Folders whose tree the index remembers are
 * taken over; the others are made from its entries.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../platform/index.ts';
import { findExtension, HASH_OFFSET, walkEntries } from './index-entries.ts';
import { freshenObject, writeLooseObject } from './loose-object.ts';
import { emptyTreeLike } from './own-git-dir.ts';

/** A tree that the index does not remember. */
export interface MadeTree {
  readonly id: string;
  readonly bytes: Buffer;
}

interface IndexTrees {
  readonly root: string;
  readonly made: readonly MadeTree[];
}

/** More trees than this are left to git. */
const MAX_WRITTEN = 256;

/** The tree of an index file, written to the git dir's store; null where git has to be asked. */
export async function writeIndexTree(
  gitDir: string,
  indexFile: string,
  like: string,
): Promise<string | null> {
  const trees = await readIndexTrees(indexFile, like);
  if (trees === null || trees.made.length > MAX_WRITTEN) return null;
  const objects = join(gitDir, 'objects');
  if (trees.made.length === 0 || (await freshenObject(objects, trees.root))) return trees.root;
  try {
    for (const made of trees.made) await writeLooseObject(objects, { kind: 'tree', ...made });
  } catch {
    return null; // git says what is wrong with the store
  }
  return trees.root;
}

/** The id that the tree of an index file has; null where git has to be asked. */
export async function findIndexTree(indexFile: string, like: string): Promise<string | null> {
  return (await readIndexTrees(indexFile, like))?.root ?? null;
}

async function readIndexTrees(indexFile: string, like: string): Promise<IndexTrees | null> {
  try {
    return makeIndexTrees(await readFile(indexFile), like.length / 2);
  } catch (error) {
    if (error instanceof RangeError || isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Null for an index in the middle of a merge, a partial one, and anything else that git itself must judge. */
export function makeIndexTrees(index: Buffer, hashBytes: number): IndexTrees | null {
  const entries: Entry[] = [];
  let isPlain = true;
  const end = walkEntries(index, hashBytes, ({ offset, mode, stage, isIntentToAdd, path }) => {
    isPlain &&= stage === 0 && !isIntentToAdd && MODES.has(mode);
    const idAt = offset + HASH_OFFSET;
    entries.push({ mode, path, id: index.subarray(idAt, idAt + hashBytes) });
  });
  const isWhole = ['link', 'sdir'].every((name) => findExtension(index, end, hashBytes, name) === null);
  if (!isPlain || !isWhole) return null;
  const known = findExtension(index, end, hashBytes, 'TREE');
  const made: MadeTree[] = [];
  const root = makeFolder(
    { entries, made, hashBytes },
    0,
    0,
    known === null ? null : readKnown(known, hashBytes),
  );
  if (root === null || root.next !== entries.length) return null;
  return { root: root.id.toString('hex'), made: entries.length === 0 ? [] : made };
}

const FOLDER = '40000';
/** File, program, link, commit of another repository. */
const MODES: ReadonlySet<number> = new Set([0o100644, 0o100755, 0o120000, 0o160000]);
const SLASH = 0x2f;

interface Entry {
  readonly mode: number;
  readonly path: Buffer;
  readonly id: Buffer;
}

/** What the index remembers of a folder; `count` is -1 when it is out of date. */
interface KnownTree {
  readonly count: number;
  readonly id: Buffer;
  readonly folders: ReadonlyMap<string, KnownTree>;
}

interface Making {
  readonly entries: readonly Entry[];
  readonly made: MadeTree[];
  readonly hashBytes: number;
}

/** The tree of the entries from `from` on that share its first `depth` bytes. Null where two of them contradict each other. */
function makeFolder(
  making: Making,
  from: number,
  depth: number,
  known: KnownTree | null,
): { readonly id: Buffer; readonly next: number } | null {
  const { entries, made, hashBytes } = making;
  const prefix = entries[from]?.path.subarray(0, depth) ?? Buffer.alloc(0);
  const isInside = (at: number): boolean => entries[at]?.path.subarray(0, depth).equals(prefix) === true;
  if (known !== null && known.count > 0) {
    const next = from + known.count;
    return isInside(next - 1) && !isInside(next) ? { id: known.id, next } : null;
  }
  const parts: Buffer[] = [];
  const names = new Set<string>();
  let at = from;
  for (let entry = entries[at]; entry !== undefined && isInside(at); entry = entries[at]) {
    const slash = entry.path.indexOf(SLASH, depth);
    const name = entry.path.subarray(depth, slash === -1 ? undefined : slash);
    const key = name.toString('latin1');
    if (name.length === 0 || names.has(key)) return null;
    names.add(key);
    const folder = slash === -1 ? null : makeFolder(making, at, slash + 1, known?.folders.get(key) ?? null);
    if (slash !== -1 && folder === null) return null;
    const mode = folder === null ? entry.mode.toString(8) : FOLDER;
    parts.push(Buffer.from(`${mode} `), name, NUL, folder?.id ?? entry.id);
    at = folder?.next ?? at + 1;
  }
  const bytes = Buffer.concat(parts);
  const id = idOfTree(bytes, hashBytes);
  made.push({ id: id.toString('hex'), bytes });
  return { id, next: at };
}

const NUL = Buffer.from([0]);

function idOfTree(bytes: Buffer, hashBytes: number): Buffer {
  if (bytes.length === 0) return Buffer.from(emptyTreeLike('0'.repeat(hashBytes * 2)), 'hex');
  return createHash(hashBytes === 32 ? 'sha256' : 'sha1')
    .update(`tree ${bytes.length}\0`)
    .update(bytes)
    .digest();
}

/** Name, number of entries, number of folders, the id unless it is out of date; then the folders in the same way. */
function readKnown(extension: Buffer, hashBytes: number): KnownTree {
  let at = 0;
  const read = (): { name: string; tree: KnownTree } => {
    const nameEnd = extension.indexOf(0, at);
    const lineEnd = extension.indexOf(0x0a, nameEnd);
    if (nameEnd === -1 || lineEnd === -1) throw new RangeError('git index ends inside its trees');
    const name = extension.toString('latin1', at, nameEnd);
    const [count = -1, folderCount = 0] = extension
      .toString('latin1', nameEnd + 1, lineEnd)
      .split(' ')
      .map(Number);
    at = lineEnd + 1;
    const id = extension.subarray(at, at + hashBytes);
    if (count >= 0) at += hashBytes;
    const folders = new Map<string, KnownTree>();
    for (let number = 0; number < folderCount; number += 1) {
      const folder = read();
      folders.set(folder.name, folder.tree);
    }
    return { name, tree: { count, id, folders } };
  };
  return read().tree;
}
