import { existsSync, lstatSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const CONFIG_FILE_NAME = 'caisson.yaml';
export const STATE_FOLDER_NAME = '.caisson';

/** The project a folder belongs to: nearest `caisson.yaml` or `.caisson`, else the git top, else the folder itself. */
export function findProjectRoot(cwd: string): string {
  const start = resolve(cwd);
  const isProject = (folder: string): boolean =>
    isNamed(join(folder, CONFIG_FILE_NAME)) || isFolder(join(folder, STATE_FOLDER_NAME));
  // `.git` is a folder in a clone and a file in a worktree or submodule.
  const isGitTop = (folder: string): boolean => existsSync(join(folder, '.git'));
  return findUpwards(start, isProject) ?? findUpwards(start, isGitTop) ?? start;
}

/** True also for a link that leads nowhere: what it should have said must not be left out silently. */
export function isNamed(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function findUpwards(start: string, matches: (folder: string) => boolean): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    if (matches(folder)) return folder;
    if (dirname(folder) === folder) return null;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
