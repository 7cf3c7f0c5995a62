/**
 * Which programs belong to a repository. `npx` and direnv put its folders into PATH, so a name alone may start a file of
 * a stranger; only a sandbox starts those.
 */
import { lstatSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { placesOnWay, readSmallFileSync, unlessErrno } from '@caisson/ground';

const MAX_POINTER_BYTES = 16 * 1024;

export interface ProjectPlace {
  readonly projectRoot: string;
  readonly home: string;
}

/** Folders without links. None of them contains HOME. */
export interface RepositoryFolders {
  /** The top of the repository that the project is in, or the project itself. */
  readonly top: string;
  /** The outermost repository around the project, and every worktree of the repositories around it. */
  readonly all: readonly string[];
}

export function findRepositoryFolders({ projectRoot, home }: ProjectPlace): RepositoryFolders {
  const start = realPath(projectRoot);
  const containsHome = (folder: string): boolean => contains(folder, realPath(home));
  const tops: string[] = [];
  for (let folder = start; !containsHome(folder); folder = dirname(folder)) {
    if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false }) !== undefined) tops.push(folder);
    if (folder === dirname(folder)) break;
  }
  const worktrees = tops.flatMap(listWorktrees).filter((folder) => !containsHome(folder));
  return { top: tops[0] ?? start, all: [...new Set([tops.at(-1) ?? start, ...worktrees])] };
}

/** The folder of the repository that has the file: by its name, by the target of its links, or by a link on the way. */
export function findFolderOf({ all }: RepositoryFolders, path: string): string | null {
  const places = [path, ...(isAbsolute(path) ? placesOnWay(path) : [])];
  return all.find((folder) => places.some((place) => contains(folder, place))) ?? null;
}

export function isFileOf(repository: RepositoryFolders, path: string): boolean {
  return findFolderOf(repository, path) !== null;
}

/** PATH as a host's program may use it; relative entries would depend on the current folder. */
export function withoutFoldersOf(repository: RepositoryFolders | null, searchPath: string): string {
  return searchPath
    .split(':')
    .filter((folder) => isAbsolute(folder) && (repository === null || !isFileOf(repository, folder)))
    .join(':');
}

/** The main worktree and the linked ones, as git stores them: a program of any of them is the repository's. */
function listWorktrees(top: string): string[] {
  const dotGit = join(top, '.git');
  const named = /^gitdir: (.+)$/m.exec(readText(dotGit))?.[1];
  const gitDir = named === undefined ? dotGit : resolve(top, named);
  const common = realPath(resolve(gitDir, readText(join(gitDir, 'commondir')).trim()));
  const links = join(common, 'worktrees');
  const names = unlessErrno(() => readdirSync(links), [], 'ENOENT', 'ENOTDIR', 'EACCES');
  const linked = names.flatMap((name) => {
    const path = readText(join(links, name, 'gitdir')).trim();
    return path === '' ? [] : [resolve(links, name, path)];
  });
  const main = basename(common) === '.git' ? [common] : [];
  return [...main, ...linked].map((path) => realPath(dirname(path)));
}

function readText(path: string): string {
  try {
    return readSmallFileSync(path, MAX_POINTER_BYTES)?.text ?? '';
  } catch {
    return ''; // a folder, or not readable: git could not use it, either
  }
}

const contains = (folder: string, path: string): boolean => join(path, '/').startsWith(join(folder, '/'));

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not there: nothing of it can be started
  }
}
