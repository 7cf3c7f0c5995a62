/** In the thread of the user's code: what any resident may write is data, never code of a resident. */
import { realpathSync } from 'node:fs';
import type { RegisterHooksOptions } from 'node:module';
import { fileURLToPath } from 'node:url';

export function refuseWritable(writable: readonly string[]): RegisterHooksOptions {
  const folders = writable.map(findReal);
  return {
    load(url, context, next) {
      const path = url.startsWith('file:') ? fileURLToPath(url) : '';
      const folder = folders.find((each) => path === each || path.startsWith(`${each}/`));
      if (folder !== undefined)
        throw new Error(`${path} is not loaded: a resident may write to ${folder}, and could replace it`);
      return next(url, context);
    },
  };
}

/** Links are followed before a file is loaded. */
function findReal(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder; // it is not there: nothing is loaded from it
  }
}
