/** Puts a set of worked-out files into place, or leaves everything as it was (A2). */
import { chmod, mkdir, readdir, rename, rmdir, unlink } from 'node:fs/promises';

import { isErrno } from '@caisson/ground';

import { copyEntry, lstatIfThere, parentOf, pathIn } from './work-file.ts';

export interface InstallOptions {
  readonly root: string;
  /** The wanted state of every path: present here, or gone. */
  readonly staging: string;
  /** Where the present files wait until all is done; on failure they come back from here. */
  readonly backup: string;
  readonly paths: readonly Buffer[];
}

type Undo = () => Promise<void>;

export async function installFiles(options: InstallOptions): Promise<void> {
  const undo: Undo[] = [];
  try {
    await mkdir(options.backup, { recursive: true });
    // Everything old leaves before anything new comes: a file may take the place of a folder.
    const modes = new Map<Buffer, number>();
    for (const [index, path] of options.paths.entries()) await setAside(options, path, index, undo, modes);
    for (const path of options.paths) await bringIn(options, path, undo, modes.get(path));
  } catch (error) {
    for (const step of undo.toReversed()) await step();
    throw error;
  }
  for (const path of options.paths) await removeEmptyParents(options.root, path);
}

async function setAside(
  options: InstallOptions,
  path: Buffer,
  index: number,
  undo: Undo[],
  modes: Map<Buffer, number>,
): Promise<void> {
  const present = pathIn(options.root, path);
  const entry = await lstatIfThere(present);
  if (entry === null || entry.isDirectory()) return;
  if (entry.isFile()) modes.set(path, entry.mode & 0o7777);
  const aside = Buffer.from(`${options.backup}/${index}`);
  await move(present, aside);
  undo.push(async () => {
    await mkdir(parentOf(present), { recursive: true });
    await move(aside, present);
  });
}

async function bringIn(
  options: InstallOptions,
  path: Buffer,
  undo: Undo[],
  oldMode: number | undefined,
): Promise<void> {
  const wanted = pathIn(options.staging, path);
  const entry = await lstatIfThere(wanted);
  if (entry === null || entry.isDirectory()) return;
  // Git knows only "executable or not"; the user's other permission bits stay.
  if (entry.isFile() && oldMode !== undefined) await chmod(wanted, mergeMode(oldMode, entry.mode));
  const target = pathIn(options.root, path);
  await removeEmptyTree(target);
  const made = await mkdir(parentOf(target), { recursive: true });
  if (made !== undefined) undo.push(async () => void (await removeEmptyParents(options.root, path)));
  undo.push(async () => await unlinkIfThere(target));
  await move(wanted, target);
}

function mergeMode(oldMode: number, newMode: number): number {
  const isExecutable = (newMode & 0o100) !== 0;
  const readers = (oldMode & 0o444) >> 2;
  return isExecutable ? oldMode | readers : oldMode & ~0o111;
}

async function move(from: Buffer, to: Buffer): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, 'EXDEV')) throw error;
    await copyEntry(from, to);
    await unlink(from);
  }
}

async function unlinkIfThere(path: Buffer): Promise<void> {
  if ((await lstatIfThere(path)) !== null) await unlink(path);
}

/** A file takes the place of folders whose files have all gone; a folder that is not empty stops the whole. */
async function removeEmptyTree(path: Buffer): Promise<void> {
  if ((await lstatIfThere(path))?.isDirectory() !== true) return;
  for (const name of await readdir(path, { encoding: 'buffer' })) {
    await removeEmptyTree(Buffer.concat([path, Buffer.from('/'), name]));
  }
  await rmdir(path);
}

/** Folders that only held what is gone now go too, as in git. */
async function removeEmptyParents(root: string, path: Buffer): Promise<void> {
  for (let parent = parentOf(path); parent.length > 0; parent = parentOf(parent)) {
    try {
      await rmdir(pathIn(root, parent));
    } catch (error) {
      if (['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY'].some((code) => isErrno(error, code))) return;
      throw error;
    }
  }
}
