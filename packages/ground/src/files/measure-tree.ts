/** The disk space of files and folders. */
import { lstat, readdir } from 'node:fs/promises';

import { ifErrno } from '../platform/index.ts';

/** A larger folder is measured in part. */
const MAX_ENTRIES = 1_000_000;

/** Bytes on the disk of everything at the path; links are not followed. A file with several names counts once per `seen`. */
export async function measureTree(path: string, seen = new Set<string>()): Promise<number> {
  const waiting: Buffer[] = [Buffer.from(path)]; // names need not be UTF-8
  let bytes = 0;
  for (let entries = 0; entries < MAX_ENTRIES; entries += 1) {
    const next = waiting.pop();
    if (next === undefined) break;
    const found = await lstat(next).catch(() => null); // it may be gone by now
    if (found === null) continue;
    if (found.isDirectory())
      for (const name of await list(next)) waiting.push(Buffer.concat([next, Buffer.from('/'), name]));
    else if (found.nlink > 1) {
      const id = `${found.dev}:${found.ino}`;
      if (seen.has(id)) continue;
      seen.add(id);
    }
    bytes += found.blocks * 512;
  }
  return bytes;
}

async function list(folder: Buffer): Promise<Buffer[]> {
  return await readdir(folder, { encoding: 'buffer' }).catch(
    ifErrno([], 'ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG'),
  );
}
