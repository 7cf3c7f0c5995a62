/** A workspace as a folder, before git looks at it. */
import { chmod, readdir, stat } from 'node:fs/promises';

import { isErrno } from './errno.ts';

/** True when the folder holds nothing but what is excluded: no process is needed to know its tree. */
export async function isWorkspaceBare(workspace: string, exclude: readonly string[]): Promise<boolean> {
  const names = await readdir(workspace);
  return names.every((name) => name === '.git' || exclude.includes(name));
}

/** An agent that took all rights from its own folder would have git not even start there. */
export async function openFolder(path: string): Promise<void> {
  const { mode, uid } = await stat(path);
  if ((mode & 0o700) !== 0o700 && uid === process.geteuid?.()) await chmod(path, (mode & 0o7777) | 0o700);
}

export async function hasFiles(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length > 0;
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return false;
    throw error;
  }
}
