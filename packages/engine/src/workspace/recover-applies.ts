/** Undoes an interrupted `apply`. One at a time, under the lock that every apply takes. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { LockTimeoutError, withFileLock, type Stamp } from '@caisson/ground';

import { planFile, readPlan } from './install-plan.ts';
import { findTop } from './locate-repository.ts';
import { listFolder } from './record.ts';
import { undoInstall, type Undone } from './undo-install.ts';

const PREFIX = 'apply-';
/** Merging thousands of files takes time. */
const WAIT_MS = 600_000;
const MAX_NAMED = 10;

/** Which project may be changed, and how our own plans are recognised. */
export interface ApplyScope {
  readonly stateDir: string;
  readonly projectRoot: string;
  readonly stamp: Stamp;
}

export const applyFolderPrefix = (stateDir: string): string => join(stateDir, 'tmp', PREFIX);

/** Runs `work` while no other process applies anything with this state folder. */
export async function withApplyLock<T>(
  stateDir: string,
  work: () => Promise<T>,
  waitMs = WAIT_MS,
): Promise<T> {
  const folder = join(stateDir, 'tmp');
  await mkdir(folder, { recursive: true });
  return await withFileLock(join(folder, 'apply.lock'), work, { waitMs });
}

/** Looks for what a dead process left; the work of a living one is not touched. Returns what was done, in words. */
export async function recoverApplies(scope: ApplyScope): Promise<string[]> {
  const { stateDir } = scope;
  if ((await listLeft(stateDir)).length === 0) return [];
  try {
    return await withApplyLock(stateDir, () => undoLeft(scope), 0);
  } catch (error) {
    if (error instanceof LockTimeoutError) return [];
    throw error;
  }
}

/** The same for the holder of the lock. */
export async function undoLeft({ stateDir, projectRoot, stamp }: ApplyScope): Promise<string[]> {
  const reported: string[] = [];
  const left = await listLeft(stateDir);
  const root = left.length === 0 ? projectRoot : ((await findTop(projectRoot)) ?? projectRoot);
  for (const name of left) {
    const folder = join(stateDir, 'tmp', name);
    const place = join(stateDir, 'trash', name);
    const plan = await readPlan(folder, { root, stamp });
    if (plan === 'foreign') {
      await keepForLater(folder, place);
      reported.push(
        `${folder} contains a plan that was not written here for ${root}: nothing was undone, and it is in ${place} now`,
      );
      continue;
    }
    if (plan !== null) {
      const undone = await undoInstall(folder, plan);
      reported.push(describe(undone, plan.root, folder, place));
      if (undone.changedSince.length > 0) {
        await keepForLater(folder, place);
        continue;
      }
    }
    await rm(folder, { recursive: true, force: true });
  }
  return reported;
}

async function listLeft(stateDir: string): Promise<string[]> {
  return (await listFolder(join(stateDir, 'tmp'))).filter((name) => name.startsWith(PREFIX));
}

/** Old contents that could not be restored stay for as long as anything in the trash. */
async function keepForLater(folder: string, place: string): Promise<void> {
  await rm(planFile(folder));
  await mkdir(join(place, '..'), { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'trashed'), 'unsaved\n');
  await rename(folder, place);
}

function describe({ files, changedSince }: Undone, root: string, folder: string, place: string): string {
  const first = `an interrupted apply was undone: ${files} ${files === 1 ? 'path' : 'paths'} in ${root} as before`;
  if (changedSince.length === 0) return first;
  const names = changedSince.slice(0, MAX_NAMED).map(({ path, kept }) => {
    return kept === null ? path : `${path} (its earlier content: ${kept.replace(folder, place)})`;
  });
  const rest = changedSince.length - names.length;
  return `${first}; changed since and not touched: ${names.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`;
}
