/**
 * Undoes an installation that failed or whose process died.
 *
 * U1  A path is touched only while it is what the plan put there, or absent. What was changed since stays as it is; its
 *     old content is kept and named.
 * U2  May be interrupted and repeated: restored paths are not checked again.
 * U3  Only the project is touched: a path that leaves it, leads through a link or into `.git` is not touched and counts
 *     as changed since. No link is followed on the way (beneath.ts of ground).
 */
import type { Stats } from 'node:fs';
import { rename, rm, unlink } from 'node:fs/promises';

import { beneath, isErrno, LinkInPathError, showPath } from '@caisson/ground';

import { WorkspaceError } from './errors.ts';
import { besideOf, keptName, pathOf, type InstallEntry, type InstallPlan } from './install-plan.ts';
import {
  blobIdAt,
  checkPath,
  copyEntry,
  lstatIfThere,
  removeEmptyParents,
  removeEmptyTree,
} from './work-file.ts';

export interface Undone {
  /** How many paths were restored. */
  readonly files: number;
  /** Paths that were changed since, each with the place of its old content; null when it had none. */
  readonly changedSince: readonly { readonly path: string; readonly kept: string | null }[];
}

export async function undoInstall(folder: string, plan: InstallPlan): Promise<Undone> {
  const changedSince: { path: string; kept: string | null }[] = [];
  const all: [number, InstallEntry][] = [];
  for (const [index, entry] of plan.entries.entries()) {
    if (await isInside(plan.root, pathOf(entry))) all.push([index, entry]);
    else changedSince.push({ path: showPath(pathOf(entry)), kept: showPath(keptName(folder, index)) });
  }
  for (const [index, entry] of all) await removeBeside(folder, plan, entry, index);
  // New files are removed first: a file comes back where a folder was made.
  for (const [, entry] of all.filter(([, { wasThere }]) => !wasThere)) {
    if (!(await takeOut(plan, entry))) changedSince.push({ path: showPath(pathOf(entry)), kept: null });
  }
  for (const [index, entry] of all.filter(([, { wasThere }]) => wasThere)) {
    const kept = keptName(folder, index);
    if (!(await putBack(folder, plan, entry, index)))
      changedSince.push({ path: showPath(pathOf(entry)), kept: showPath(kept) });
  }
  return { files: plan.entries.length - changedSince.length, changedSince };
}

/** U3 */
async function isInside(root: string, path: Buffer): Promise<boolean> {
  try {
    await checkPath(root, path);
    return true;
  } catch (error) {
    if (error instanceof WorkspaceError) return false;
    throw error;
  }
}

async function removeBeside(
  folder: string,
  { root }: InstallPlan,
  entry: InstallEntry,
  index: number,
): Promise<void> {
  await unlessLinked(() =>
    beneath(root, pathOf(entry), async (target) => {
      const beside = besideOf(folder, target, index);
      if ((await lstatIfThere(beside)) !== null) await rm(beside);
    }),
  );
}

/** U1. False when something else is there. */
async function takeOut({ root }: InstallPlan, entry: InstallEntry): Promise<boolean> {
  const path = pathOf(entry);
  const isOut = await unlessLinked(() =>
    beneath(root, path, async (target) => {
      const present = await lstatIfThere(target);
      if (present === null || present.isDirectory() || entry.after === null) return true;
      if ((await blobIdAt(target, 'sha1')) !== entry.after) return false;
      await unlink(target);
      return true;
    }),
  );
  if (isOut === true) await removeEmptyParents(root, path);
  return isOut !== false;
}

/** U1, U2. False when something else is there. */
async function putBack(
  folder: string,
  { root }: InstallPlan,
  entry: InstallEntry,
  index: number,
): Promise<boolean> {
  const kept = keptName(folder, index);
  const old = await lstatIfThere(kept);
  if (old === null) return true;
  const isBack = await unlessLinked(() =>
    beneath(root, pathOf(entry), (target) => putBackAt(folder, target, entry, index, old), { create: true }),
  );
  return isBack === true;
}

async function putBackAt(
  folder: string,
  target: Buffer,
  entry: InstallEntry,
  index: number,
  old: Stats,
): Promise<boolean> {
  const kept = keptName(folder, index);
  const present = await lstatIfThere(target);
  if (present !== null && present.ino === old.ino && present.dev === old.dev) {
    await unlink(kept); // renaming one name of a file over another does nothing
    return true;
  }
  if (present?.isDirectory() === true) {
    if (!(await tryRemoveEmptyTree(target))) return false; // made for a file that was never installed
  } else if (present !== null) {
    const id = await blobIdAt(target, 'sha1');
    if (id === null || (id !== entry.after && id !== (await blobIdAt(kept, 'sha1')))) return false;
  }
  try {
    await rename(kept, target);
  } catch (error) {
    if (!isErrno(error, 'EXDEV')) throw error;
    const beside = besideOf(folder, target, index);
    await copyEntry(kept, beside);
    await rename(beside, target);
    await unlink(kept);
  }
  return true;
}

/** False if a link has replaced a folder: its target is not ours. */
async function unlessLinked<T>(work: () => Promise<T>): Promise<T | false> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LinkInPathError) return false;
    throw error;
  }
}

async function tryRemoveEmptyTree(path: Buffer): Promise<boolean> {
  try {
    await removeEmptyTree(path);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EBUSY')) return false;
    throw error;
  }
}
