import { mkdirSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

import { isErrno } from '../platform/index.ts';
import { syncPath, syncPathSync } from './atomic-file.ts';

/**
 * Makes a folder and all above it, for its owner only, so that it survives a power cut. Not `recursive`: where the
 * parent exists and still refuses a folder (/proc, for example), Node's own search never ends.
 */
export function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
    syncPathSync(parent);
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(folder)) throw error;
  }
}

/** Folders that this process is making: one that is there already may not survive a power cut yet. */
const underWay = new Map<string, Promise<void>>();

/** {@link makeFolder} for places where the event loop must stay free: the disk may take long. */
export async function makeFolderAsync(folder: string): Promise<void> {
  const made = underWay.get(folder);
  if (made !== undefined) return await made;
  if (isFolder(folder)) return;
  const making = makeSynced(folder).finally(() => underWay.delete(folder));
  underWay.set(folder, making);
  await making;
}

async function makeSynced(folder: string): Promise<void> {
  const parent = dirname(folder);
  if (parent !== folder) await makeFolderAsync(parent);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!isErrno(error, 'EEXIST') || !isFolder(folder)) throw error; // another process was faster
  }
  await syncPath(parent);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
