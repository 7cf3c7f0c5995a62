/**
 * Files that are either the old content or the new one, never a mixture, also after a power cut. temp in the same
 * folder → write → fsync → rename or link → fsync of the folder. Every rename that something relies on uses this file:
 * without the first fsync a file system may keep the new name and lose the bytes, without the second one it may lose
 * the name.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { CaissonError } from '@caisson/protocol';

import { isErrno, unusedName } from '../platform/index.ts';
import { removeFileSync } from './remove-file.ts';

export interface AtomicWriteOptions {
  /** Exact permissions of the new file, whatever the umask. Default 0o600. */
  readonly mode?: number;
  /** Survive a power cut: fsync of file and folder. Default true. */
  readonly durable?: boolean;
}

export interface OpenOptions {
  /** Refuse a symbolic link as last component; for paths that another user may write. Default false. */
  readonly noFollow?: boolean;
}

/** The file is larger than its reader accepts. */
export class FileTooLargeError extends CaissonError {
  readonly code = 'FILE_TOO_LARGE';
}

/** The path names a folder, pipe, socket or device where a file was expected. */
export class NotARegularFileError extends CaissonError {
  readonly code = 'NOT_A_REGULAR_FILE';
}

/** Replaces `path` in one step. When it resolves, the new content is there; when it rejects, the old one still is. */
export async function writeFileAtomic(
  path: string,
  bytes: Uint8Array | string,
  options: AtomicWriteOptions = {},
): Promise<void> {
  const { mode = 0o600, durable = true } = options;
  const temp = tempBeside(path);
  try {
    const file = await open(temp, 'wx', mode);
    try {
      await file.writeFile(bytes);
      await file.chmod(mode);
      if (durable) await file.sync();
    } finally {
      await file.close();
    }
    await rename(temp, path);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
  if (durable) await syncPath(dirname(path));
}

/** {@link writeFileAtomic} for places that must not yield, such as a process about to exit. */
export function writeFileAtomicSync(
  path: string,
  bytes: Uint8Array | string,
  options: AtomicWriteOptions = {},
): void {
  const { mode = 0o600, durable = true } = options;
  const temp = tempBeside(path);
  try {
    const fd = openSync(temp, 'wx', mode);
    try {
      writeFileSync(fd, bytes);
      fchmodSync(fd, mode);
      if (durable) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temp, path);
  } catch (error) {
    removeFileSync(temp);
    throw error;
  }
  if (durable) syncPathSync(dirname(path));
}

/** Gives a finished draft its name, in one step. Draft and name may be in different folders of one file system. */
export async function publishFile(draft: string | Buffer, path: string): Promise<void> {
  await syncPath(draft, { noFollow: true });
  await rename(draft, path);
  await syncPath(dirname(path));
}

/** Gives a finished draft a name that must be new, and removes the draft; false when the name is taken. */
export function publishNewFileSync(draft: string, path: string): boolean {
  try {
    syncPathSync(draft);
    linkOrCopy(draft, path);
    syncPathSync(dirname(path));
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    removeFileSync(draft);
  }
}

/** Writes a file that must be new, in one step; false when there is one already. */
export function writeNewFileSync(path: string, bytes: Uint8Array | string): boolean {
  const temp = tempBeside(path);
  try {
    writeFileSync(temp, bytes, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    removeFileSync(temp);
    throw error;
  }
  return publishNewFileSync(temp, path);
}

/** Makes the bytes of a file, or the names in a folder, survive a power cut. */
export async function syncPath(path: string | Buffer, { noFollow = false }: OpenOptions = {}): Promise<void> {
  const link = noFollow ? constants.O_NOFOLLOW : 0;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | link);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** {@link syncPath} for places that must not yield. */
export function syncPathSync(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Reads a whole regular file of at most `maxBytes`, or throws {@link FileTooLargeError}. Counts what it reads and does
 * not trust the size, which may change meanwhile. Never blocks on a pipe in place of the file.
 */
export async function readFileCapped(
  path: string,
  maxBytes: number,
  options: OpenOptions = {},
): Promise<Buffer> {
  const noFollow = options.noFollow === true ? constants.O_NOFOLLOW : 0;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) {
      throw new NotARegularFileError(`${path} is not a regular file; put a plain file there.`);
    }
    if (stat.size > maxBytes) throw tooLarge(path, maxBytes);
    return await readAtMost(file, path, maxBytes, stat.size);
  } finally {
    await file.close();
  }
}

/** A small regular file of ours and its owner; null when there is none, or something else is in its place. */
export function readSmallFileSync(
  path: string,
  maxBytes: number,
): { readonly text: string; readonly uid: number; readonly mode: number } | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO')) return null;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > maxBytes) return null;
    return { text: readFileSync(fd, 'utf8'), uid: stats.uid, mode: stats.mode };
  } finally {
    closeSync(fd);
  }
}

type OpenFile = Awaited<ReturnType<typeof open>>;

async function readAtMost(file: OpenFile, path: string, maxBytes: number, sizeHint: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  let want = Math.min(sizeHint, maxBytes) + 1;
  for (;;) {
    const buffer = Buffer.allocUnsafe(want);
    const { bytesRead } = await file.read(buffer, 0, want, total);
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    if (total > maxBytes) throw tooLarge(path, maxBytes);
    chunks.push(buffer.subarray(0, bytesRead));
    want = Math.min(65_536, maxBytes - total + 1);
  }
}

function tooLarge(path: string, maxBytes: number): FileTooLargeError {
  return new FileTooLargeError(`${path} is larger than the ${maxBytes} bytes allowed here; shorten it.`);
}

/** The name does not grow with the target's, which may already be as long as the file system allows. */
function tempBeside(path: string): string {
  return join(dirname(path), `.caisson-${unusedName()}.tmp`);
}

const WITHOUT_LINKS = ['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'];

function linkOrCopy(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!WITHOUT_LINKS.some((code) => isErrno(error, code))) throw error;
    copyFileSync(draft, path, constants.COPYFILE_EXCL); // a file system without links
    syncPathSync(path);
  }
}
