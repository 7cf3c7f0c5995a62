/**
 * Reaches a name below a folder without following a link on the way, even if others change the folders meanwhile.
 *
 * Node has no `openat`. Linux shows every open folder at `/proc/self/fd/N`: a path that begins there begins in that
 * very folder, whatever its name means by now. So each component is opened from the one before, as a folder and not
 * through a link, and the caller gets the last name as a path in its folder. The caller must not follow a link either:
 * `lstat`, `rename`, `unlink`, `link`, `rmdir`, `readlink` and opening with O_NOFOLLOW do not.
 */
import { closeSync, constants, lstatSync, mkdirSync, openSync } from 'node:fs';
import { CaissonError } from '@caisson/protocol';

import { isErrno, showPath } from '../platform/index.ts';

/** A path leads through a link, so another user may choose where it ends. */
export class LinkInPathError extends CaissonError {
  readonly code = 'LINK_IN_PATH';
}

/** O_PATH, which Node does not name: a place to start from that needs no right to list. */
const O_PATH = 0o10000000;
const FOLDER = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export interface BeneathOptions {
  /** Make the folders that are missing on the way. */
  readonly create?: boolean;
}

/**
 * Calls `use` with a path for the last name of `path`, below the folder `root`. Null when a folder on the way does not
 * exist, or is a file. Throws {@link LinkInPathError} if there is a link.
 */
export async function beneath<T>(
  root: string,
  path: Buffer,
  use: (at: Buffer) => Promise<T>,
  options: BeneathOptions = {},
): Promise<T | null> {
  const names = splitPath(path);
  const last = names.pop() ?? Buffer.alloc(0);
  const folder = openFolders(root, path, names, options.create ?? false);
  if (folder === null) return null;
  try {
    return await use(nameIn(folder, last));
  } finally {
    closeSync(folder);
  }
}

/** The same for a folder itself: `use` gets a path for what is in it. Null when it is no folder. */
export async function inFolder<T>(at: Buffer, use: (folder: Buffer) => Promise<T>): Promise<T | null> {
  const folder = openFolder(at);
  if (folder === null) return null;
  try {
    return await use(Buffer.from(`/proc/self/fd/${folder}`));
  } finally {
    closeSync(folder);
  }
}

function splitPath(path: Buffer): Buffer[] {
  const names = path
    .toString('latin1')
    .split('/')
    .map((name) => Buffer.from(name, 'latin1'));
  const isOdd = names.some((name) => ['', '.', '..'].includes(name.toString('latin1')));
  if (isOdd) throw new LinkInPathError(`${showPath(path)} is not a path inside a folder.`);
  return names;
}

function openFolders(root: string, path: Buffer, names: readonly Buffer[], create: boolean): number | null {
  let folder = openSync(root, FOLDER);
  for (const name of names) {
    const above = folder;
    try {
      const next = openNext(above, name, path, create);
      if (next === null) return null;
      folder = next;
    } finally {
      closeSync(above);
    }
  }
  return folder;
}

function openNext(folder: number, name: Buffer, path: Buffer, create: boolean): number | null {
  const at = nameIn(folder, name);
  try {
    const opened = openFolder(at);
    if (opened !== null || !create) return opened;
    makeFolderAt(at);
    return openFolder(at);
  } catch (error) {
    if (error instanceof LinkInPathError)
      throw new LinkInPathError(`${showPath(path)} goes through the link ${showPath(name)}.`, {
        cause: error,
        remedy:
          'Replace the link with a folder if you want one there, and check which program changes the folder.',
      });
    throw error;
  }
}

function makeFolderAt(at: Buffer): void {
  try {
    mkdirSync(at);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error; // another process made it, and it is opened like any other
  }
}

/** Null when nothing is there, or a file. */
function openFolder(at: Buffer): number | null {
  try {
    return openSync(at, FOLDER);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    if (!isErrno(error, 'ENOTDIR') && !isErrno(error, 'ELOOP')) throw error;
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new LinkInPathError('A link is where a folder was expected.', { cause: error });
    return null;
  }
}

function nameIn(folder: number, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder}/`), name]);
}
