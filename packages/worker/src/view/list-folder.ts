import { readdirSync, type Dirent } from 'node:fs';

/** Folders that are gone, that we may not open, or that an agent nested so deep that they cannot be named. */
const OUT_OF_REACH = new Set(['EACCES', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/** The content of a folder of a workspace; nothing if it cannot be listed. */
export function listFolder(folder: string): Dirent[] {
  return listIfReachable(() => readdirSync(folder, { withFileTypes: true }));
}

/** The same with names as bytes: they need not be UTF-8. */
export function listFolderBytes(folder: Buffer): Dirent<Buffer>[] {
  return listIfReachable(() => readdirSync(folder, { withFileTypes: true, encoding: 'buffer' }));
}

function listIfReachable<T>(list: () => T[]): T[] {
  try {
    return list();
  } catch (error) {
    if (OUT_OF_REACH.has((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
