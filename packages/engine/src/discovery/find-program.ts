import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

/** The program a shell would start: a path as it is (from `base`), a name looked up in PATH. Null when there is none. */
export function findProgram(name: string, searchPath: string | undefined, base: string): string | null {
  if (name.includes('/')) {
    const path = isAbsolute(name) ? name : resolve(base, name);
    return isProgram(path) ? path : null;
  }
  const folders = (searchPath ?? '').split(':').filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

/** Whether it is a file that we may execute. */
export function isProgram(path: string): boolean {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // not executable by us, or in a folder that we may not read: a shell would skip it too
  }
}
