import { readdirSync, type Dirent } from 'node:fs';

/** Folders that are gone, that we may not open, or that an agent nested so deep that they have no name to open them by. */
const OUT_OF_REACH = new Set(['EACCES', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

/** What is in a folder of a workspace; nothing where it cannot be listed. */
export function listFolder(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (OUT_OF_REACH.has((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
