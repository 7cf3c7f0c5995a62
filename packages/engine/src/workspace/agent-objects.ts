/**
 * An agent that rewrites its alternates, or links its store elsewhere, would make us read other repositories: their
 * content would be saved beside its own commits, and the next agent could read it there.
 */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { GitError, isErrno } from '@caisson/ground';

import { readIfThere } from './locate-repository.ts';

/** More loose objects than one run makes. */
const MAX_ENTRIES = 500_000;

/** Throws GitError unless everything git would read in this git dir is inside it. */
export async function refuseForeignObjects(source: string, isSandboxed: boolean): Promise<void> {
  const objects = join(source, 'objects');
  // The links first: reading a pipe in place of the alternates would never end.
  const isOwn =
    (await holdsNoLink(objects)) &&
    (await borrowsFromUs(objects)) &&
    (!isSandboxed || (await isBare(join(source, 'borrowed'))));
  if (!isOwn) throw new GitError('its object store was changed to borrow from somewhere else', '');
}

/** Whether everything git would read for a repository of the agent's own is inside it. */
export async function holdsOwnObjects(gitDir: string): Promise<boolean> {
  const objects = join(gitDir, 'objects');
  return (
    (await holdsNoLink(objects)) &&
    ((await readIfThere(join(objects, 'info', 'alternates'))) ?? '').trim() === '' &&
    (await readIfThere(join(gitDir, 'commondir'))) === null
  );
}

async function borrowsFromUs(objects: string): Promise<boolean> {
  const alternates = (await readIfThere(join(objects, 'info', 'alternates'))) ?? '';
  return alternates.split('\n').every((line) => line === '' || /^\.\.\/borrowed\/\d+$/.test(line));
}

async function holdsNoLink(root: string): Promise<boolean> {
  if (!(await isFolder(root))) return false;
  let entries = 0;
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      entries += 1;
      if (entries > MAX_ENTRIES || !(entry.isFile() || entry.isDirectory())) return false;
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
    }
  }
  return true;
}

/** In a sandbox borrowed folders are mounted; on the disk there are only empty folders for them. */
async function isBare(borrowed: string): Promise<boolean> {
  if (!(await isFolder(borrowed))) return false;
  for (const entry of await readdir(borrowed, { withFileTypes: true })) {
    if (!entry.isDirectory() || (await readdir(join(borrowed, entry.name))).length > 0) return false;
  }
  return true;
}

/** Whether the folder itself exists, not a link to one. */
export async function isFolder(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
}
