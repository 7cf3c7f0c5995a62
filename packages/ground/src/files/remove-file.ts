import { unlinkSync } from 'node:fs';

import { isErrno } from '../platform/index.ts';

/** Removes a file if there is one. Node's own `rmSync` hides the code of most errors and calls them unknown. */
export function removeFileSync(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}
