/**
 * Which programs belong to a repository. `npx` and direnv put its folders into PATH, so a name alone may start a file of
 * a stranger; only a sandbox starts those.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

export interface ProjectPlace {
  readonly projectRoot: string;
  readonly home: string;
}

/** The outermost repository around the project that does not contain HOME, or the project itself. Without links. */
export function findRepositoryFolder({ projectRoot, home }: ProjectPlace): string {
  const start = realPath(projectRoot);
  let found = start;
  for (let folder = start; !contains(folder, realPath(home)); folder = dirname(folder)) {
    if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false }) !== undefined) found = folder;
    if (folder === dirname(folder)) break;
  }
  return found;
}

/** By its name and by the target of its links. */
export function isFileOf(repository: string, path: string): boolean {
  return contains(repository, path) || contains(repository, realPath(path));
}

/** PATH as a host's program may use it; relative entries would depend on the current folder. */
export function withoutFoldersOf(repository: string | null, searchPath: string): string {
  return searchPath
    .split(':')
    .filter((folder) => isAbsolute(folder) && (repository === null || !isFileOf(repository, folder)))
    .join(':');
}

const contains = (folder: string, path: string): boolean => join(path, '/').startsWith(join(folder, '/'));

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not there: nothing of it can be started
  }
}
