import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { syncPathSync } from './atomic-file.ts';

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

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
