import { rm, rmdir } from 'node:fs/promises';

import { isErrno } from '../platform/index.ts';

/** Removes a file of a tree's list, its path as bytes in Latin-1, and the folders that become empty. */
export async function removeListedFile(workspace: string, path: string): Promise<void> {
  const at = (part: string): Buffer =>
    Buffer.from(Buffer.from(`${workspace}/`).toString('latin1') + part, 'latin1');
  await rm(at(path), { force: true });
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    try {
      await rmdir(at(path.slice(0, end)));
    } catch (error) {
      if (isErrno(error, 'ENOTEMPTY', 'ENOENT')) return;
      throw error;
    }
  }
}
