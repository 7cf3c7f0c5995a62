/** A workspace as a folder, before git reads it. */
import { lstatSync, readdir, type Stats } from 'node:fs';
import { chmod, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { isErrno } from '../platform/index.ts';

/** True when the folder contains only excluded paths: its tree is known without a process. */
export async function isWorkspaceBare(workspace: string, exclude: readonly string[]): Promise<boolean> {
  const names = await promisify(readdir)(workspace);
  return names.every((name) => name === '.git' || exclude.includes(name));
}

/** If an agent removed all rights from its own folder, git would not even start there. */
export async function openFolder(path: string): Promise<void> {
  const { mode, uid } = await stat(path);
  if ((mode & 0o700) !== 0o700 && uid === process.geteuid?.()) await chmod(path, (mode & 0o7777) | 0o700);
}

export async function hasFiles(folder: Buffer): Promise<boolean> {
  try {
    return (await promisify(readdir)(folder)).length > 0;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}

/** Whether a folder on the way to the path is a link. */
export function isBehindLink(root: string, path: string): boolean {
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent))
    if (lstatSync(join(root, parent), { throwIfNoEntry: false })?.isSymbolicLink() === true) return true;
  return false;
}

/**
 * Reports which paths of a folder exist. Missing folders are checked once: a sparse checkout has many. A path through a
 * link does not exist, as for git.
 */
export function createPresence(root: string): (path: Buffer) => boolean {
  const folders = new Map<string, boolean>();
  const lookAt = (path: Buffer): Stats | undefined =>
    lstatSync(Buffer.concat([Buffer.from(`${root}/`), path]), { throwIfNoEntry: false });
  const hasFolder = (path: Buffer): boolean => {
    const key = path.toString('latin1');
    const known = folders.get(key);
    if (known !== undefined) return known;
    const isHere = path.length === 0 || (hasFolder(parentOf(path)) && lookAt(path)?.isDirectory() === true);
    folders.set(key, isHere);
    return isHere;
  };
  return (path) => hasFolder(parentOf(path)) && lookAt(path) !== undefined;
}

function parentOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(path.lastIndexOf(0x2f), 0));
}
