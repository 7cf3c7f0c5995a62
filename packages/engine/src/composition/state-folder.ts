import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '@caisson/ground';
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
