/**
 * Files that are too large to be staged. Staging reads every byte of a file, also of a hole: a sparse file without any
 * data would keep git busy for minutes.
 *
 * O1  Only what staging would read counts: ignored, excluded or unchanged files may be of any size.
 * O2  The apparent size counts. If files are too large together, the largest are left out first.
 * O3  A small folder costs no process; git is used only when something in it could be too large.
 */
import { lstatSync, readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';

import { CaissonError } from '@caisson/protocol';

import { isErrno, showPath } from '../platform/index.ts';
import type { Git } from '../git/index.ts';

/** The limit of what is staged. */
export interface StageLimits {
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
}

export interface OversizedFile {
  /** Relative to the workspace, as readable text. */
  readonly path: string;
  readonly size: number;
}

/** Too many files are too large to leave them out one by one. */
export class TooManyOversizedError extends CaissonError {
  readonly code = 'TOO_MANY_OVERSIZED';
}

const MAX_LOOKED_AT = 2000;
const MAX_LEFT_OUT = 512;
const ROOM_FOR_NAMES = 1024 * 1024 * 1024;

/** Whether anything below the folder could be too large: a quick check without a process (O3). */
export function mayBeOversized(root: string, exclude: readonly string[], limits: StageLimits): boolean {
  const skipped = new Set(exclude.map((path) => join(root, path)));
  const folders = [root];
  let looked = 0;
  let total = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = listIfReadable(folder);
    if (entries === null) return true;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.name.includes('\u{fffd}')) return true; // a name that is not UTF-8 cannot be looked up this way
      if (entry.name === '.git' || skipped.has(path)) continue;
      looked += 1;
      if (looked > MAX_LOOKED_AT) return true;
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) total += lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (total > Math.min(limits.maxFileBytes, limits.maxTotalBytes)) return true;
    }
  }
  return false;
}

function listIfReadable(folder: string): Dirent[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isErrno(error, 'EACCES', 'ENOENT', 'ENAMETOOLONG')) return null;
    throw error;
  }
}

export interface FoundOversized {
  /** Names in bytes, relative to the top of the git's work tree. */
  readonly names: readonly Buffer[];
  readonly files: readonly OversizedFile[];
  /** The total size of the files that stay. */
  readonly stagedBytes: number;
}

/** The files of one work tree that staging would read; `pathspec` limits the check. */
export async function listChanged(git: Git, pathspec: readonly string[]): Promise<Buffer[]> {
  const bound = { maxOutputBytes: ROOM_FOR_NAMES };
  const [untracked, changed] = await Promise.all([
    git.run(['ls-files', '-z', '--others', '--exclude-standard', '--', ...pathspec], bound),
    git.run(['diff-files', '-z', '--name-only', '--', ...pathspec], bound),
  ]);
  return [...splitNames(untracked.stdout), ...splitNames(changed.stdout)];
}

/** Those of the `changed` files of one work tree that are left out. */
export function findOversized(
  changed: readonly Buffer[],
  folder: string,
  prefix: string,
  limits: StageLimits,
): FoundOversized {
  const sized = changed
    .map((name) => ({ name, size: sizeOf(folder, name) }))
    .toSorted((left, right) => right.size - left.size);
  let stagedBytes = sized.reduce((sum, { size }) => sum + size, 0);
  const left = sized.filter(({ size }) => {
    if (size <= limits.maxFileBytes && stagedBytes <= limits.maxTotalBytes) return false;
    stagedBytes -= size;
    return true;
  });
  if (left.length > MAX_LEFT_OUT) throw tooMany(left.length, limits);
  return {
    names: left.map(({ name }) => name),
    files: left.map(({ name, size }) => ({ path: prefix + showPath(name), size })),
    stagedBytes,
  };
}

function tooMany(count: number, limits: StageLimits): TooManyOversizedError {
  return new TooManyOversizedError(
    `${count} files are larger than ${limits.maxFileBytes} bytes, or too large together (${limits.maxTotalBytes}); at most ${MAX_LEFT_OUT} are left out one by one.`,
    { remedy: 'List them in .gitignore, or raise limits.captureFile and limits.capture in caisson.yaml.' },
  );
}

/** A nested repository is named with a slash at its end; it is staged and checked by itself. */
function splitNames(output: Buffer): Buffer[] {
  const names: Buffer[] = [];
  for (let start = 0; start < output.length;) {
    const end = output.indexOf(0, start);
    const name = output.subarray(start, end === -1 ? output.length : end);
    if (name.length > 0 && name.at(-1) !== 0x2f) names.push(name);
    start = end === -1 ? output.length : end + 1;
  }
  return names;
}

function sizeOf(folder: string, name: Buffer): number {
  try {
    const stats = lstatSync(Buffer.concat([Buffer.from(`${folder}/`), name]));
    return stats.isFile() ? stats.size : 0;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG')) return 0;
    throw error;
  }
}
