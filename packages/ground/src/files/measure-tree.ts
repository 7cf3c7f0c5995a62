/** The disk space of files and folders. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { ifErrno } from '../platform/index.ts';

/** A larger folder is measured in part. */
const MAX_ENTRIES = 1_000_000;

/**
 * Bytes on the disk of everything at the path; links are not followed. A file with several names counts once per `seen`;
 * with `null` it does not count, because another name of it stays when this one is removed.
 */
export async function measureTree(
  path: string,
  seen: Set<string> | null = new Set<string>(),
): Promise<number> {
  const waiting = [path];
  let bytes = 0;
  for (let entries = 0; entries < MAX_ENTRIES; entries += 1) {
    const next = waiting.pop();
    if (next === undefined) break;
    const found = await lstat(next).catch(() => null); // it may be gone by now
    if (found === null) continue;
    if (found.isDirectory()) waiting.push(...(await list(next)).map((name) => join(next, name)));
    else if (found.nlink > 1) {
      const id = `${found.dev}:${found.ino}`;
      if (seen?.has(id) !== false) continue;
      seen.add(id);
    }
    bytes += found.blocks * 512;
  }
  return bytes;
}

async function list(folder: string): Promise<string[]> {
  return await readdir(folder).catch(ifErrno([], 'ENOENT', 'ENOTDIR', 'EACCES'));
}
