/** Makes trees and commits survive a power cut before a ref names them. */
import { join } from 'node:path';

import { createGit, isErrno, syncPath } from '@caisson/ground';

const AT_ONCE = 64;

/** Syncs every object that `named` have and `known` have not, and the folders that they are in; returns their ids. */
export async function syncObjects(
  gitDir: string,
  named: readonly string[],
  known: readonly string[],
): Promise<readonly string[]> {
  const wanted = [...new Set(named)].filter((id) => !known.includes(id));
  if (wanted.length === 0) return [];
  const git = createGit({ cwd: gitDir, gitDir });
  const not = known.length === 0 ? [] : ['--not', ...known];
  const listed = await git.text(['rev-list', '--objects', '--no-object-names', ...wanted, ...not]);
  const ids = listed.split('\n').filter(Boolean);
  const objects = join(gitDir, 'objects');
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const part = ids.slice(at, at + AT_ONCE);
    await Promise.all(part.map((id) => syncIfThere(join(objects, id.slice(0, 2), id.slice(2)))));
  }
  // Git syncs a pack before it gives it its name; syncing the name is our task.
  const folders = [...new Set(['', 'pack', ...ids.map((id) => id.slice(0, 2))])];
  await Promise.all(folders.map((folder) => syncIfThere(join(objects, folder))));
  return ids;
}

/** An object in a pack has no loose file. */
export async function syncIfThere(path: string): Promise<void> {
  try {
    await syncPath(path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT') && !isErrno(error, 'ENOTDIR')) throw error;
  }
}
