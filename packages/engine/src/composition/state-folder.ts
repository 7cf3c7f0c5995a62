import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CaissonError } from '@caisson/protocol';

/** Nothing can be kept where the state should be. */
export class StateFolderError extends CaissonError {
  readonly code = 'STATE_UNWRITABLE';

  constructor(stateDir: string, cause: NodeJS.ErrnoException) {
    const isFull = cause.code === 'ENOSPC' || cause.code === 'EDQUOT';
    super(`the state folder ${stateDir} cannot be written: ${cause.message}.`, {
      cause,
      remedy: isFull
        ? 'Free some space on that disk, or point --state-dir at another folder.'
        : 'Make it a folder that this user may write, or point --state-dir at another one.',
    });
  }
}

/** The state folder ignores itself, so that no project has to. */
export function prepareStateFolder(stateDir: string): void {
  try {
    makeFolder(stateDir);
    const ignore = join(stateDir, '.gitignore');
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n');
  } catch (error) {
    throw new StateFolderError(stateDir, error as NodeJS.ErrnoException);
  }
}

/**
 * Not `recursive`: where the parent is there and still takes no folder (/proc, for one), Node's own way up and down the
 * path never ends.
 */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
