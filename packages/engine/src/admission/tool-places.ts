/**
 * Which places a run may see because a tool lies there. PATH, links and files of tools name them, and some of these can be
 * written by an agent, or come with a clone. So each place is judged by where its path really ends.
 *
 * P1  Nothing of the project's own working tree: the workspace has its own.
 * P2  No link, and no file, of the repository leads to a place outside of it. Other worktrees count as the repository.
 * P3  No place of log-ins, except one that the user named himself; nothing found by way of a tool contains one.
 * P4  Neither HOME nor another replaced folder as a whole, no parent of the project, nothing that Caisson keeps private.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { listReplacedFolders, ownUid, placesOnWay } from '@caisson/ground';
import { CREDENTIAL_PATHS, namesCredential } from '@caisson/protocol';
import { findRepositoryFolders, isFileOf } from '../discovery/index.ts';
import { PYTHONS } from '../workspace/index.ts';
import type { DispatchSettings } from './rooms.ts';

export interface ToolPlaces {
  /** Whether the path, or a link on its way, lies in the repository. */
  isOfRepository(path: string): boolean;
  isVisible(path: string): boolean;
  /** For a folder that nobody named: it contains no log-in, and is the user's or the system's. */
  isVisibleWhole(path: string): boolean;
  /** Whether what a link leads to may be judged at all (P2). */
  isVisibleThrough(link: string): boolean;
  /** For what the user named: a log-in, too, but no link to one. */
  isVisibleAsNamed(path: string): boolean;
  /** For Caisson's own program, which may be installed in the repository around the project. */
  isVisibleAsOwn(path: string): boolean;
  /** The places of a Python that a version manager installed, with and without links; none for any other folder. */
  findPython(folder: string): string[];
}

type Settings = Pick<DispatchSettings, 'home' | 'projectRoot' | 'hostEnv' | 'privatePaths'>;

export function findToolPlaces(settings: Settings): ToolPlaces {
  const { home, projectRoot } = settings;
  const repository = findRepositoryFolders(settings);
  const isShowable = createGeneralCheck(settings);
  const isOfRepository = (path: string): boolean => isFileOf(repository, path);
  const isOutside = (path: string): boolean => {
    const ends = [resolve(path), realpathSync.native(path)];
    if (ends.some((end) => isIn(repository.top, end))) return false; // P1
    return !isOfRepository(path) || isFileOf(repository, realpathSync.native(path)); // P2
  };
  const isVisible = (path: string): boolean =>
    isShowable(path) &&
    isOutside(path) &&
    !namesCredential(path) &&
    !namesCredential(realpathSync.native(path));
  const logIns = CREDENTIAL_PATHS.map((path) => join(home, path)).filter((path) => existsSync(path));
  const pythons = listPythonFolders(settings);
  return {
    isOfRepository,
    isVisible,
    isVisibleWhole: (path) => isVisible(path) && isOfUser(path) && !logIns.some((file) => isIn(path, file)),
    isVisibleThrough: isOutside,
    isVisibleAsNamed: (path) =>
      isShowable(path) &&
      isOutside(path) &&
      (namesCredential(path) || !namesCredential(realpathSync.native(path))),
    isVisibleAsOwn: (path) => isShowable(path) && !isIn(projectRoot, realpathSync.native(path)),
    findPython(folder) {
      if (!existsSync(folder)) return [];
      const ends = [folder, realpathSync.native(folder)];
      const isManaged = ends.every((end) => pythons.includes(dirname(end)) && end === resolve(end));
      return isManaged ? ends : [];
    },
  };
}

/** P4: by its name and by the targets of its links, because a link to HOME is HOME. */
function createGeneralCheck({ home, projectRoot, privatePaths }: Settings): (path: string) => boolean {
  const replaced = [...listReplacedFolders(), home];
  const hidden = privatePaths();
  const isAllowed = (path: string): boolean =>
    !replaced.includes(path) &&
    !isIn(projectRoot, path) &&
    !isIn(path, projectRoot) &&
    !hidden.some((place) => isIn(place, path));
  return (path) => {
    if (!existsSync(path)) return false;
    const ends = [resolve(path), realpathSync.native(path)];
    return ends.some((end) => replaced.some((folder) => isIn(folder, end))) && ends.every(isAllowed);
  };
}

/** Where version managers install Pythons, by the names that a file may use and without links. */
function listPythonFolders({ home, hostEnv }: Settings): string[] {
  const moved = [
    ...[hostEnv['PYENV_ROOT']].map((root) => [root, 'versions'] as const),
    ...[hostEnv['ASDF_DATA_DIR'], hostEnv['MISE_DATA_DIR']].map((root) => [root, 'installs/python'] as const),
  ];
  const folders = [
    ...PYTHONS.map((path) => join(home, path)),
    ...moved.flatMap(([root, path]) => (root === undefined || root === '' ? [] : [join(root, path)])),
  ];
  return folders.flatMap((folder) => [folder, placesOnWay(folder).at(-1) ?? folder]);
}

function isOfUser(path: string): boolean {
  return [ownUid(), 0].includes(statSync(path).uid);
}

function isIn(folder: string, path: string): boolean {
  return join(path, '/').startsWith(join(folder, '/'));
}
