/** Files in a project that hold passwords by habit. Code that stays needs none of them, and may be granted hosts. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CREDENTIAL_PATHS } from '@caisson/protocol';

/** A remote's address in it may contain a password. */
const GIT_NAMES: readonly string[] = ['config', 'config.worktree', 'credentials'];
/** Folders of a repository's own; others below `modules` are parts of the name of a submodule. */
const GIT_FOLDERS: ReadonlySet<string> = new Set(['hooks', 'info', 'lfs', 'logs', 'objects', 'refs']);

/** Those that are there now: at the top of the project, and the settings of a repository that it is in. */
export function listProjectSecrets(projectRoot: string): string[] {
  const settings = readdirSync(projectRoot).filter(isSettings);
  const inProject = [...settings, ...CREDENTIAL_PATHS].map((path) => join(projectRoot, path));
  const ofGit = listGitFolders(projectRoot).flatMap((folder) => GIT_NAMES.map((name) => join(folder, name)));
  return [...new Set([...inProject, ...ofGit])].filter((path) => existsSync(path));
}

/** Where a file that is made or replaced may be one of them, and which names are. */
export function listSecretPlaces(
  projectRoot: string,
): readonly { readonly folder: string; isSecret(name: string): boolean }[] {
  const tops = new Set(['.git', ...CREDENTIAL_PATHS.map((path) => path.split('/')[0] ?? path)]);
  return [
    { folder: projectRoot, isSecret: (name) => isSettings(name) || tops.has(name) },
    ...listGitFolders(projectRoot).map((folder) => ({
      folder,
      isSecret: (name: string) => GIT_NAMES.includes(name) || name === 'modules',
    })),
  ];
}

function isSettings(name: string): boolean {
  return name === '.env' || name.startsWith('.env.');
}

function listGitFolders(projectRoot: string): string[] {
  const folders = listParents(projectRoot).map((folder) => join(folder, '.git'));
  return folders.filter(isFolder).flatMap((folder) => [folder, ...listModules(join(folder, 'modules'))]);
}

/** Of submodules, and of theirs. */
function listModules(folder: string): string[] {
  if (!isFolder(folder)) return [];
  const isRepository = existsSync(join(folder, 'HEAD'));
  const below = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !(isRepository && GIT_FOLDERS.has(entry.name)))
    .flatMap(({ name }) => listModules(join(folder, name)));
  return isRepository ? [folder, ...below] : below;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function listParents(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...listParents(parent)];
}
