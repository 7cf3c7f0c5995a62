/** One file of a working tree, by a path in bytes: names need not be UTF-8. */
import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { copyFile, lstat, mkdir, open, readdir, readFile, readlink, rmdir, symlink } from 'node:fs/promises';

import {
  beneath,
  ifErrno,
  inFolder,
  isErrno,
  LinkInPathError,
  showPath,
  type ObjectFormat,
} from '@caisson/ground';
import { foldName } from '@caisson/protocol';

import { WorkspaceError } from './errors.ts';

export function pathIn(root: string, path: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), path]);
}

export function parentOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(path.lastIndexOf(0x2f), 0));
}

/** What is at the path, links not followed; null when nothing is. */
export async function readEntry(root: string, path: Buffer): Promise<Stats | null> {
  return await beneath(root, path, lstatIfThere);
}

export async function lstatIfThere(path: Buffer): Promise<Stats | null> {
  return await lstat(path).catch(ifErrno(null, 'ENOENT', 'ENOTDIR'));
}

/** The id git gives the raw bytes; null for anything that is no file or link. */
export async function blobIdOf(root: string, path: Buffer, format: ObjectFormat): Promise<string | null> {
  return await beneath(root, path, (at) => blobIdAt(at, format));
}

/** The file itself: not the target of a link that replaced it, and without waiting for a pipe. */
export async function readFileAt(path: Buffer): Promise<Buffer> {
  return await readFile(path, { flag: constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK });
}

/** Names in the folder at the path; none if there is no folder. */
export async function listEntry(root: string, path: Buffer): Promise<Buffer[]> {
  const list = (folder: Buffer): Promise<Buffer[]> => readdir(folder, { encoding: 'buffer' });
  return (await beneath(root, path, (at) => inFolder(at, list))) ?? [];
}

/** The same for a whole path. */
export async function blobIdAt(full: Buffer, format: ObjectFormat): Promise<string | null> {
  const entry = await lstatIfThere(full);
  if (entry === null || !(entry.isFile() || entry.isSymbolicLink())) return null;
  const bytes = entry.isFile() ? await readFileAt(full) : await readlink(full, { encoding: 'buffer' });
  return idOfBlob(bytes, format);
}

export function idOfBlob(bytes: Buffer, format: ObjectFormat): string {
  return createHash(format).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/** A patch never leaves the project: no absolute path, no `..`, nothing that reads as `.git`, no way through a link. */
export async function checkPath(root: string, path: Buffer): Promise<void> {
  const parts = path.toString('latin1').split('/');
  const isOdd = parts.some(
    (part) =>
      part === '' ||
      part === '.' ||
      part === '..' ||
      foldName(Buffer.from(part, 'latin1').toString('utf8')) === '.git',
  );
  if (isOdd) throw refusal(path, 'is not a path inside the project');
  try {
    await readEntry(root, path);
  } catch (error) {
    if (!(error instanceof LinkInPathError)) throw error;
    throw refusal(path, error.message.slice(error.message.indexOf('goes through')).replace(/\.$/, ''));
  }
}

function refusal(path: Buffer, why: string): WorkspaceError {
  return new WorkspaceError(`The patch touches ${showPath(path)}, which ${why}; nothing was changed.`, {
    remedy:
      'Inspect the patch with `caisson diff`, and replace the link with a folder if you want one there.',
  });
}

/** Copies a file or link with its permissions to a free path. False when there is none. */
export async function copyEntry(from: Buffer, to: Buffer): Promise<boolean> {
  const entry = await lstatIfThere(from);
  if (entry === null || !(entry.isFile() || entry.isSymbolicLink())) return false;
  await mkdir(parentOf(to), { recursive: true });
  if (entry.isSymbolicLink()) {
    await symlink(await readlink(from, { encoding: 'buffer' }), to);
    return true;
  }
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    // The open file, under any name; and a new one, through no link.
    const how = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;
    await copyFile(`/proc/self/fd/${source.fd}`, to, how);
  } finally {
    await source.close();
  }
  return true;
}

/** A file replaces folders whose files are all gone; a folder that is not empty stops the whole installation. */
export async function removeEmptyTree(path: Buffer): Promise<void> {
  if ((await lstatIfThere(path))?.isDirectory() !== true) return;
  await inFolder(path, async (folder) => {
    for (const name of await readdir(folder, { encoding: 'buffer' }))
      await removeEmptyTree(Buffer.concat([folder, Buffer.from('/'), name]));
  });
  await rmdir(path);
}

/** Emptied folders are removed too, as in git. */
export async function removeEmptyParents(root: string, path: Buffer): Promise<void> {
  for (let parent = parentOf(path); parent.length > 0; parent = parentOf(parent)) {
    try {
      await beneath(root, parent, (at) => rmdir(at));
    } catch (error) {
      if (error instanceof LinkInPathError) return;
      if (isErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY')) return;
      throw error;
    }
  }
}
