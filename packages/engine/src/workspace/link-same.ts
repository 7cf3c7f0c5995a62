/**
 * Builds and caches are often the same in every run. A file in the trash that equals the one at the same place of an
 * earlier folder becomes a second name of it: the disk has it once, and it is gone with its last name.
 */
import { constants, type Stats } from 'node:fs';
import { link, lstat, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ifErrno, statIfThere } from '@caisson/ground';
import { listFolder } from './record.ts';

/** A smaller file takes hardly more than its name. */
const MIN_BYTES = 4096;
/** How many earlier folders are searched, the newest first. */
const MAX_EARLIER = 8;
const CHUNK_BYTES = 1024 * 1024;
const DRAFT = '.caisson-same';
/** Another process deletes the other file meanwhile, or it has as many names as it can have. The file stays as it is. */
const PASSING = ['ENOENT', 'EEXIST', 'EMLINK', 'EACCES', 'EPERM', 'EXDEV'];

/** `path` is a folder of the trash, with files. */
export async function linkSame(path: string): Promise<void> {
  const trash = dirname(path);
  const names = (await listFolder(trash)).filter((name) => name < basename(path)).toSorted();
  const earlier = names.slice(-MAX_EARLIER).toReversed();
  await linkFolder(
    join(path, 'files'),
    earlier.map((name) => join(trash, name, 'files')),
  );
}

/** `others` are the same folder of earlier runs; those that are not there are not searched. */
async function linkFolder(folder: string, others: readonly string[]): Promise<void> {
  const earlier = others.filter((other) => statIfThere(other, 'itself')?.isDirectory() === true);
  if (earlier.length === 0) return;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const [own, same] = [join(folder, entry.name), earlier.map((other) => join(other, entry.name))];
    if (entry.isDirectory()) await linkFolder(own, same);
    else if (entry.isFile()) await linkToFirst(own, same).catch(ifErrno(undefined, ...PASSING));
  }
}

async function linkToFirst(file: string, candidates: readonly string[]): Promise<void> {
  const own = await statIfFile(file);
  if (own === null || own.size < MIN_BYTES) return;
  for (const candidate of candidates) {
    const other = await statIfFile(candidate);
    if (other === null || !isAlike(own, other) || !(await hasSameBytes(file, candidate))) continue;
    const draft = join(dirname(file), DRAFT);
    await rm(draft, { force: true }); // of a process that was killed
    await link(candidate, draft);
    await rename(draft, file);
    return;
  }
}

function isAlike(own: Stats, other: Stats): boolean {
  const isSame = own.dev === other.dev && own.ino === other.ino;
  return !isSame && own.dev === other.dev && own.size === other.size && own.mode === other.mode;
}

async function statIfFile(path: string): Promise<Stats | null> {
  const found = await lstat(path).catch(ifErrno(null, 'ENOENT', 'ENOTDIR', 'EACCES'));
  return found?.isFile() === true ? found : null;
}

async function hasSameBytes(left: string, right: string): Promise<boolean> {
  const how = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const first = await open(left, how);
  try {
    const second = await open(right, how);
    try {
      return await compare(first, second);
    } finally {
      await second.close();
    }
  } finally {
    await first.close();
  }
}

async function compare(first: FileHandle, second: FileHandle): Promise<boolean> {
  const [left, right] = [Buffer.alloc(CHUNK_BYTES), Buffer.alloc(CHUNK_BYTES)];
  for (let at = 0; ;) {
    const [one, other] = await Promise.all([
      first.read(left, 0, CHUNK_BYTES, at),
      second.read(right, 0, CHUNK_BYTES, at),
    ]);
    if (one.bytesRead !== other.bytesRead) return false;
    if (!left.subarray(0, one.bytesRead).equals(right.subarray(0, one.bytesRead))) return false;
    if (one.bytesRead === 0) return true;
    at += one.bytesRead;
  }
}
