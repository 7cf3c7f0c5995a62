/** Makes a commit survive a power cut before a ref names it. Git itself syncs refs and packs but not loose objects. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';

import { createGit, isErrno } from '@caisson/ground';

const AT_ONCE = 64;

/** Syncs every loose object that `commit` has and `known` has not; objects in packs are synced by git. */
export async function syncObjects(gitDir: string, commit: string, known: string | null): Promise<void> {
  const git = createGit({ cwd: gitDir, gitDir });
  const not = known === null ? [] : ['--not', known];
  const ids = (await git.text(['rev-list', '--objects', '--no-object-names', commit, ...not])).split('\n');
  const objects = join(gitDir, 'objects');
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const part = ids.slice(at, at + AT_ONCE);
    await Promise.all(part.map((id) => syncPath(join(objects, id.slice(0, 2), id.slice(2)))));
  }
  const folders = [...new Set(ids.map((id) => id.slice(0, 2)))];
  await Promise.all(folders.map((folder) => syncPath(join(objects, folder))));
}

async function syncPath(path: string): Promise<void> {
  try {
    const handle = await open(path);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}
