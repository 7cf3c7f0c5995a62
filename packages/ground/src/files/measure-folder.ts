/** The size of a folder that changes while it is measured. */
import { lstatSync, opendirSync, type Dir, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isErrno, shareTurn } from '../platform/index.ts';

const MAX_ENTRIES = 300_000;
/** Synchronous calls take a tenth of the CPU of queued ones; after so many others have their turn. */
const ENTRIES_AT_ONCE = 64;

export interface FolderSize {
  readonly bytes: number;
  readonly entries: number;
  /** More entries than are ever counted: the true size is larger. */
  readonly isPartial: boolean;
  /** Folders and files that cannot be read (closed, or too deep to be named): their content is not counted. */
  readonly unreadable: number;
}

/**
 * Bytes on disk of everything below the folder: links and other file systems are not followed, hard links count once.
 * What was closed before `closedSinceMs` does not count as unreadable.
 */
export async function measureFolder(
  path: string,
  signal?: AbortSignal,
  closedSinceMs = 0,
  maxEntries = MAX_ENTRIES,
): Promise<FolderSize> {
  const { dev } = lstatSync(path);
  const seen = new Set<number>();
  const folders = [path];
  let bytes = 0;
  let entries = 0;
  let unreadable = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const opened = look(() => opendirSync(folder, { bufferSize: ENTRIES_AT_ONCE }));
    if (opened === 'forbidden' && isChangedSince(folder, closedSinceMs)) unreadable += 1;
    if (opened === 'forbidden' || opened === null) continue;
    for (const name of namesIn(opened)) {
      if (signal?.aborted || entries >= maxEntries) return { bytes, entries, isPartial: true, unreadable };
      entries += 1;
      if (entries % ENTRIES_AT_ONCE === 0) await shareTurn();
      const stats = look(() => lstatSync(join(folder, name)));
      if (stats === 'forbidden' && isChangedSince(folder, closedSinceMs)) unreadable += 1;
      if (stats === 'forbidden' || stats === null || stats.dev !== dev) continue;
      if (stats.isDirectory()) folders.push(join(folder, name));
      else if (stats.nlink > 1 && seen.has(stats.ino)) continue;
      else if (stats.nlink > 1) seen.add(stats.ino);
      bytes += stats.blocks * 512;
    }
  }
  return { bytes, entries, isPartial: false, unreadable };
}

function* namesIn(folder: Dir): Generator<string> {
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) yield entry.name;
  } finally {
    folder.closeSync();
  }
}

function isChangedSince(folder: string, sinceMs: number): boolean {
  const stats = look((): Stats => lstatSync(folder));
  return stats === 'forbidden' || (stats !== null && stats.ctimeMs >= sinceMs);
}

/**
 * `null` for what vanished: the agent works while we read. A path that is too long to be named can still be reached step by
 * step: for us it is closed like a forbidden one.
 */
function look<T>(read: () => T): T | 'forbidden' | null {
  try {
    return read();
  } catch (error) {
    if (isErrno(error, 'EACCES', 'ENAMETOOLONG')) return 'forbidden';
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}
