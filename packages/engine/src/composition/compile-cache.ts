import { lstatSync, statSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSticky, makeFolder, ownUid } from '@caisson/ground';
import type { UserFolders } from '../config/index.ts';

/**
 * Where workers keep their compiled code, or null if no folder can be made or others could put code there. It is made here
 * because Node would retry for ever in a folder below a read-only one (/proc).
 */
export function prepareCompileCache({ cache }: Pick<UserFolders, 'cache'>): string | null {
  const folder = join(cache, 'compile');
  try {
    if (!isOurs(folder)) return null;
    makeFolder(folder);
    return folder;
  } catch {
    return null; // a cache: without one a start is slower, and nothing else changes
  }
}

/**
 * Compiled code is run as it is found. So its folder is for this user alone, the one above is written by this user alone,
 * and all others on the way belong to this user or root. The start of the CLI has the same rule (bin/caisson.js).
 */
function isOurs(folder: string, depth = 0): boolean {
  const stats = (depth < 2 ? lstatSync : statSync)(folder, { throwIfNoEntry: false });
  if (stats !== undefined && !isKept(stats, depth)) return false;
  return folder === '/' || isOurs(dirname(folder), depth + 1);
}

function isKept(stats: Stats, depth: number): boolean {
  const { uid, mode } = stats;
  if (depth < 2) return uid === ownUid() && (mode & (depth === 0 ? 0o077 : 0o022)) === 0;
  return (uid === ownUid() || uid === 0) && ((mode & 0o002) === 0 || isSticky(stats));
}
