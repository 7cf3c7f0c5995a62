/**
 * Installs a set of computed files.
 *
 * keeping ──plan on disk──► installing ──plan gone──► done
 *                               └──failure, or death and the next command──► undone (undo-install.ts)
 *
 * I1  Until the plan is on disk nothing of the user has changed. Old content is kept, by a second name of the same file
 *     if the file system supports that.
 * I2  A file changes in one step, by a rename over it or by its removal: at any moment it is the old one or the new
 *     one.
 * I4  Every folder on the way to a file is opened without following a link: if a process swaps one for a link
 *     meanwhile, the whole installation fails, and nothing outside the project changes (beneath.ts of ground).
 * I3  What failed or was interrupted is undone from the plan.
 * I5  The plan is removed when everything is on disk: a power cut leaves the old state, or the complete new one.
 */
import { chmod, link, mkdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

import { beneath, isErrno, showPath, syncPath, type Stamp } from '@caisson/ground';

import { mapAtOnce } from './at-once.ts';
import { WorkspaceError } from './errors.ts';
import {
  besideOf,
  createPlan,
  keptName,
  pathOf,
  planFile,
  writePlan,
  type InstallEntry,
} from './install-plan.ts';
import { undoInstall } from './undo-install.ts';
import {
  blobIdOf,
  copyEntry,
  lstatIfThere,
  parentOf,
  pathIn,
  removeEmptyParents,
  removeEmptyTree,
} from './work-file.ts';

export interface InstallOptions {
  readonly root: string;
  /** The wanted state of every path: present here, or absent. */
  readonly staging: string;
  /** Our folder for the plan and for old content until all is done. */
  readonly folder: string;
  readonly paths: readonly Buffer[];
  readonly stamp: Stamp;
}

export async function installFiles(options: InstallOptions): Promise<void> {
  const { root, folder } = options;
  await mkdir(join(folder, 'kept'));
  const entries = await mapAtOnce(options.paths, (path, index) => keep(options, path, index));
  const leaving = entries.filter((entry) => entry.wasThere && entry.after === null);
  const plan = createPlan(folder, root, entries);
  await writePlan(folder, plan, options.stamp); // I1
  try {
    // All removals come before all additions: a file may replace a folder.
    await mapAtOnce(leaving, (entry) => beneath(root, pathOf(entry), unlink));
    await mapAtOnce(entries, (entry, index) => bringIn(options, entry, index));
  } catch (error) {
    const { changedSince } = await undoInstall(folder, plan); // I3
    if (changedSince.length === 0) await unlink(planFile(folder));
    throw error;
  }
  await mapAtOnce(entries, (entry) => beneath(root, pathOf(entry), syncParent)); // I5
  await unlink(planFile(folder));
  for (const entry of leaving) await removeEmptyParents(root, pathOf(entry));
}

async function keep(options: InstallOptions, path: Buffer, index: number): Promise<InstallEntry> {
  const kept = keptName(options.folder, index);
  const entry = await beneath(options.root, path, async (present) => {
    const found = await lstatIfThere(present);
    if (found !== null && !found.isDirectory()) await keepPresent(present, kept);
    return found;
  });
  const after = await blobIdOf(options.staging, path, 'sha1');
  const wanted = pathIn(options.staging, path);
  if (entry?.isFile() === true && after !== null) await takeOverMode(entry.mode & 0o7777, wanted);
  return { path: path.toString('latin1'), wasThere: entry?.isDirectory() === false, after };
}

async function keepPresent(present: Buffer, kept: Buffer): Promise<void> {
  try {
    await link(present, kept);
  } catch (error) {
    // Another file system, one without links, or a file of another user.
    if (!isErrno(error, 'EXDEV', 'EPERM', 'EMLINK', 'EACCES', 'ENOTSUP', 'ENOSYS')) throw error;
    await copyEntry(present, kept);
  }
}

/** Git knows only "executable or not"; the user's other permission bits stay. */
async function takeOverMode(oldMode: number, wanted: Buffer): Promise<void> {
  const entry = await lstatIfThere(wanted);
  if (entry?.isFile() !== true) return;
  const readers = (oldMode & 0o444) >> 2;
  await chmod(wanted, (entry.mode & 0o100) === 0 ? oldMode & ~0o111 : oldMode | readers);
}

async function syncParent(at: Buffer): Promise<void> {
  await syncPath(parentOf(at));
}

/** A link has no content. */
async function syncFile(path: Buffer): Promise<void> {
  if ((await lstatIfThere(path))?.isFile() === true) await syncPath(path, { noFollow: true });
}

/** I2, I4 */
async function bringIn(options: InstallOptions, entry: InstallEntry, index: number): Promise<void> {
  if (entry.after === null) return;
  const path = pathOf(entry);
  const wanted = pathIn(options.staging, path);
  const isIn = await beneath(
    options.root,
    path,
    async (target) => {
      if (!entry.wasThere) await removeEmptyTree(target);
      await syncFile(wanted);
      try {
        await rename(wanted, target);
      } catch (error) {
        if (!isErrno(error, 'EXDEV')) throw error;
        const beside = besideOf(options.folder, target, index);
        await copyEntry(wanted, beside);
        await syncFile(beside);
        await rename(beside, target);
      }
      return true;
    },
    { create: !entry.wasThere },
  );
  if (isIn === null)
    throw new WorkspaceError(`The folder of ${showPath(path)} was removed while the patch was applied.`, {
      remedy: 'The changes were undone. Check which other program works in this folder, and apply again.',
    });
}
