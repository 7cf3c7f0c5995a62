/** One file of a working tree, by a path in bytes: names need not be UTF-8. */
import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readFile, readlink, rmdir, symlink } from 'node:fs/promises';

import { isErrno, showPath, type ObjectFormat } from '@caisson/ground';

import { WorkspaceError } from './errors.ts';

export function pathIn(root: string, path: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), path]);
}

export function parentOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(path.lastIndexOf(0x2f), 0));
}

/** What is at the path, links not followed; null when nothing is. */
export async function readEntry(root: string, path: Buffer): Promise<Stats | null> {
  return await lstatIfThere(pathIn(root, path));
}

export async function lstatIfThere(path: Buffer): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return null;
    throw error;
  }
}

/** The id git gives the raw bytes; null for anything that is no file or link. */
export async function blobIdOf(root: string, path: Buffer, format: ObjectFormat): Promise<string | null> {
  return await blobIdAt(pathIn(root, path), format);
}

/** The same for a whole path. */
export async function blobIdAt(full: Buffer, format: ObjectFormat): Promise<string | null> {
  const entry = await lstatIfThere(full);
  if (entry === null || !(entry.isFile() || entry.isSymbolicLink())) return null;
  const bytes = entry.isFile() ? await readFile(full) : await readlink(full, { encoding: 'buffer' });
  return idOfBlob(bytes, format);
}

export function idOfBlob(bytes: Buffer, format: ObjectFormat): string {
  return createHash(format).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/** A patch never leaves the project: no absolute path, no `..`, no `.git`, no way through a link. */
export async function checkPath(root: string, path: Buffer): Promise<void> {
  const parts = path.toString('latin1').split('/');
  const isOdd = parts.some(
    (part) => part === '' || part === '.' || part === '..' || part.toLowerCase() === '.git',
  );
  if (isOdd) throw refusal(path, 'is not a path inside the project');
  for (let depth = 1; depth < parts.length; depth += 1) {
    const parent = Buffer.from(parts.slice(0, depth).join('/'), 'latin1');
    const entry = await readEntry(root, parent);
    if (entry === null) return;
    if (entry.isSymbolicLink()) throw refusal(path, `goes through the link ${showPath(parent)}`);
  }
}

function refusal(path: Buffer, why: string): WorkspaceError {
  return new WorkspaceError(`The patch touches ${showPath(path)}, which ${why}; nothing was changed.`, {
    remedy:
      'Inspect the patch with `caisson diff`, and replace the link by a folder if it is meant to be one.',
  });
}

/** Copies a file or link with its permissions. False when there is none. */
export async function copyEntry(from: Buffer, to: Buffer): Promise<boolean> {
  const entry = await lstatIfThere(from);
  if (entry === null || !(entry.isFile() || entry.isSymbolicLink())) return false;
  await mkdir(parentOf(to), { recursive: true });
  if (entry.isSymbolicLink()) {
    await symlink(await readlink(from, { encoding: 'buffer' }), to);
    return true;
  }
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, entry.mode & 0o7777);
  return true;
}

/** A file takes the place of folders whose files have all gone; a folder that is not empty stops the whole. */
export async function removeEmptyTree(path: Buffer): Promise<void> {
  if ((await lstatIfThere(path))?.isDirectory() !== true) return;
  for (const name of await readdir(path, { encoding: 'buffer' })) {
    await removeEmptyTree(Buffer.concat([path, Buffer.from('/'), name]));
  }
  await rmdir(path);
}

/** Folders that only held what is gone now go too, as in git. */
export async function removeEmptyParents(root: string, path: Buffer): Promise<void> {
  for (let parent = parentOf(path); parent.length > 0; parent = parentOf(parent)) {
    try {
      await rmdir(pathIn(root, parent));
    } catch (error) {
      if (['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY'].some((code) => isErrno(error, code))) return;
      throw error;
    }
  }
}
