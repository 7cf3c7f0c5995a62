/** Whether git tracks anything in a folder: what a pull or a checkout can write is not ours. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { findIndexedBelow, isErrno, readSmallFileSync, statIfThere } from '@caisson/ground';

export interface TrackedState {
  /** A tracked path in the folder, or the reason why that cannot be known; null when nothing is tracked. */
  readonly problem: string | null;
  /** Identifies the present index, so that it is not read again until it changes. */
  readonly index: string;
}

/** `seen` is the index that was last found to track nothing here. */
export function findTracked(folder: string, seen: string | undefined): TrackedState {
  const place = findIndexFolder(dirname(folder));
  if (place === null) return { problem: null, index: '' };
  const files = listIndexFiles(place.gitDir);
  const index = [place.top, folder, ...files.map(describeFile)].join('\n');
  if (index === seen) return { problem: null, index };
  const path = Buffer.from(relative(place.top, folder));
  let main: Buffer = Buffer.alloc(0);
  for (const file of files) {
    try {
      const bytes = readIndexSync(file);
      const sharedId = /sharedindex\.([0-9a-f]+)$/.exec(file)?.[1];
      if (sharedId === undefined) main = bytes;
      else if (!main.includes(Buffer.from(sharedId, 'hex'))) continue; // a half that is no longer used
      const found = findIndexedBelow(bytes, path);
      if (found !== null) return { problem: `git tracks ${found.toString('utf8')}`, index };
    } catch (error) {
      if (isErrno(error, 'ENOENT')) continue; // replaced just now
      return { problem: `the git index ${file} cannot be read (${(error as Error).message})`, index };
    }
  }
  return { problem: null, index };
}

/** Of several million files. */
const MAX_INDEX_BYTES = 512 * 1024 * 1024;

/** A link may lead to a pipe, or to what never ends. */
function readIndexSync(file: string): Buffer {
  const found = statIfThere(file, 'itself');
  if (found?.isFile() === false) throw new Error('it is not a regular file');
  if (found !== null && found.size > MAX_INDEX_BYTES) throw new Error('it is too large');
  return readFileSync(file);
}

function findIndexFolder(start: string): { top: string; gitDir: string } | null {
  for (let folder = start; ; folder = dirname(folder)) {
    const gitDir = readDotGit(join(folder, '.git'));
    if (gitDir !== null) return { top: folder, gitDir };
    if (folder === dirname(folder)) return null;
  }
}

/** A folder, or a file that names one, as in a worktree or a submodule. */
function readDotGit(path: string): string | null {
  const stats = statIfThere(path, 'itself');
  if (stats === null) return null;
  if (!stats.isFile()) return path;
  const named = /^gitdir: (.+?)\n?$/s.exec(readSmallFileSync(path, 65_536)?.text ?? '')?.[1];
  return named === undefined ? null : resolve(dirname(path), named);
}

/** The index, then the shared halves of a split one. */
function listIndexFiles(gitDir: string): string[] {
  const isIndex = (name: string): boolean => name === 'index' || name.startsWith('sharedindex.');
  try {
    return readdirSync(gitDir)
      .filter(isIndex)
      .toSorted() // `index` comes before `sharedindex…`
      .map((name) => join(gitDir, name));
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

function describeFile(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return `${file}:${stats?.ino}:${stats?.size}:${stats?.mtimeNs}:${stats?.ctimeNs}`;
}
