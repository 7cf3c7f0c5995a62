/** Refs read and written as the files in which git stores them. Null or false: another store, or anything odd; then git does it. */
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readFileCapped } from '../files/index.ts';
import { ifErrno, isErrno } from '../platform/index.ts';

export interface Ref {
  readonly name: string;
  readonly objectId: string;
}

/** Above it one process is quicker. */
const MAX_LOOSE = 256;
const MAX_PACKED_BYTES = 256 * 1024 * 1024;
const MAX_REF_BYTES = 4096;
const NONE = Buffer.alloc(0);
const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
/** Stricter than git. */
const PLAIN_NAME =
  /^(?!.*(?:\.\.|@\{|\/\.|\/\/|\.lock(?:\/|$)|\.\/|\.$))refs\/[^\0-\x20~^:?*[\\\x7f\ufffd]+$/;

/** Whether a text is the full name of a ref, and has nothing odd in it. */
export const isPlainRef = (name: string): boolean => PLAIN_NAME.test(name);

/** Every ref of a repository except those below `without`, sorted by name as git does. */
export async function readRefFiles(commonDir: string, without: string): Promise<Ref[] | null> {
  if (isOtherStore(commonDir)) return null;
  // In this order, as git does: a ref that is packed meanwhile is in the second, and one found twice is newer as a file.
  const loose = await readLoose(commonDir, without);
  if (loose === null) return null;
  const file = await readFileCapped(join(commonDir, 'packed-refs'), MAX_PACKED_BYTES).catch(
    ifErrno(NONE, 'ENOENT'),
  );
  const packed = file
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '' && !/^[#^]/.test(line))
    .map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))] as const);
  const all = new Map([...packed.filter(([name]) => !name.startsWith(`${without}/`)), ...loose]);
  const refs: Ref[] = [];
  for (const [name, content] of all) {
    const objectId = follow(all, content);
    if (objectId === null || !isPlainRef(name)) return null;
    refs.push({ name, objectId });
  }
  return refs.toSorted((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
}

/**
 * Gives refs their values, whatever they had. Their objects exist. False, and nothing was written, where a lock or
 * something else is in the way. The bytes are on disk before a ref has its name; the caller syncs the names.
 */
export async function writeRefFiles(commonDir: string, refs: ReadonlyMap<string, string>): Promise<boolean> {
  if (isOtherStore(commonDir) || ![...refs.keys()].every(isPlainRef)) return false;
  const locks: { readonly lock: string; readonly path: string }[] = [];
  try {
    for (const [name, objectId] of refs) {
      const path = join(commonDir, name);
      await mkdir(dirname(path), { recursive: true });
      const file = await open(`${path}.lock`, 'wx', 0o666);
      locks.push({ lock: `${path}.lock`, path });
      try {
        await file.writeFile(`${objectId}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
    }
    for (const { lock, path } of locks) await rename(lock, path);
    return true;
  } catch (error) {
    for (const { lock } of locks) await rm(lock, { force: true });
    // ENOENT: a `git pack-refs` has just removed the empty folder.
    if (isErrno(error, 'EEXIST', 'ENOENT', 'ENOTDIR', 'EISDIR')) return false;
    throw error;
  }
}

const isOtherStore = (commonDir: string): boolean => existsSync(join(commonDir, 'reftable'));

async function readLoose(commonDir: string, without: string): Promise<[string, string][] | null> {
  const found: [string, string][] = [];
  const folders = ['refs'];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(join(commonDir, folder), { withFileTypes: true }).catch(
      ifErrno([], 'ENOENT'),
    );
    for (const entry of entries) {
      const name = `${folder}/${entry.name}`;
      if (name === without || entry.name.endsWith('.lock') || entry.name.startsWith('.')) continue;
      if (entry.isDirectory()) folders.push(name);
      else if (!entry.isFile() || found.length === MAX_LOOSE) return null;
      else {
        const text = await readFileCapped(join(commonDir, name), MAX_REF_BYTES).catch(
          ifErrno(null, 'ENOENT'),
        );
        if (text !== null) found.push([name, text.toString('utf8').trim()]);
      }
    }
  }
  return found;
}

/** The id itself, or that of the ref that is named. */
function follow(all: ReadonlyMap<string, string>, content: string): string | null {
  const target = /^ref: *(.+)$/.exec(content)?.[1];
  const id = target === undefined ? content : all.get(target);
  return id !== undefined && OBJECT_ID.test(id) ? id : null;
}
