/** Files in a project that hold passwords by habit. Code that stays needs none of them, and may be granted hosts. */
import { existsSync, lstatSync, opendirSync, readdirSync, statSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownUid } from '@caisson/ground';
import { CREDENTIAL_PATHS } from '@caisson/protocol';

/** A remote's address in it may contain a password. */
const GIT_NAMES: readonly string[] = ['config', 'config.worktree', 'credentials'];
/** Folders of a repository's own; others below `modules` are parts of the name of a submodule. */
const GIT_FOLDERS: ReadonlySet<string> = new Set(['hooks', 'info', 'lfs', 'logs', 'objects', 'refs']);
/** Each is watched, and has files to hide. Where there are more submodules, all of them are hidden as one folder. */
const MAX_MODULES = 256;
/** Entries of folders that are read to find them. */
const MAX_READ = 8192;

export interface SecretPlace {
  readonly folder: string;
  isSecret(name: string): boolean;
}

export interface SecretPlaces {
  readonly places: readonly SecretPlace[];
  /** Folders of submodules that are too many to be hidden one by one: each is hidden as a whole. */
  readonly hiddenWhole: readonly string[];
}

/** Those that are there now: at the top of the project, and the settings of a repository that it is in. */
export function listProjectSecrets(projectRoot: string): string[] {
  const settings = readdirSync(projectRoot).filter(isSettings);
  const inProject = [...settings, ...CREDENTIAL_PATHS].map((path) => join(projectRoot, path));
  const { folders, hiddenWhole } = listGitFolders(projectRoot);
  const ofGit = folders.flatMap((folder) => GIT_NAMES.map((name) => join(folder, name)));
  return [...new Set([...inProject, ...ofGit, ...hiddenWhole])].filter((path) => existsSync(path));
}

/** Where a file that is made or replaced may be one of them, and which names are. */
export function listSecretPlaces(projectRoot: string): SecretPlaces {
  const tops = new Set(['.git', ...CREDENTIAL_PATHS.map((path) => path.split('/')[0] ?? path)]);
  const { folders, hiddenWhole } = listGitFolders(projectRoot);
  const places = [
    { folder: projectRoot, isSecret: (name: string) => isSettings(name) || tops.has(name) },
    ...folders.map((folder) => ({
      folder,
      isSecret: (name: string) => GIT_NAMES.includes(name) || name === 'modules',
    })),
  ];
  return { places, hiddenWhole };
}

/** One text for each that is there. A file that was replaced has another one, also if it has the old name. */
export function identifyProjectSecrets(projectRoot: string): ReadonlySet<string> {
  const identify = (path: string): string => {
    const stats = look(path, statSync);
    return `${path} ${stats?.dev} ${stats?.ino} ${stats?.ctimeMs}`;
  };
  return new Set(listProjectSecrets(projectRoot).map(identify));
}

function isSettings(name: string): boolean {
  return name === '.env' || name.startsWith('.env.');
}

interface GitFolders {
  readonly folders: readonly string[];
  readonly hiddenWhole: readonly string[];
}

function listGitFolders(projectRoot: string): GitFolders {
  const folders: string[] = [];
  const hiddenWhole: string[] = [];
  for (const git of listRepositories(projectRoot)) {
    const modules = join(git, 'modules');
    const found = listModules(modules);
    folders.push(git, ...(found ?? []));
    // What a link leads to may be anything, such as the folder of the system's programs.
    if (found === null && look(modules, lstatSync)?.isDirectory() === true) hiddenWhole.push(modules);
  }
  return { folders, hiddenWhole };
}

/** Of submodules, and of theirs. Null when they are too many, or among too many other files. */
function listModules(top: string): string[] | null {
  const found: string[] = [];
  const open = isFolder(top) ? [top] : [];
  let left = MAX_READ;
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const isRepository = existsSync(join(folder, 'HEAD'));
    if (isRepository) found.push(folder);
    const below = listFolders(folder, left);
    left -= below.read;
    if (found.length > MAX_MODULES || left <= 0) return null;
    for (const name of below.names)
      if (!(isRepository && GIT_FOLDERS.has(name))) open.push(join(folder, name));
  }
  return found;
}

/** Stops after so many entries. A folder that cannot be read, or is gone, has none. */
function listFolders(folder: string, maxRead: number): { readonly names: string[]; readonly read: number } {
  const names: string[] = [];
  let read = 0;
  try {
    const opened = opendirSync(folder);
    try {
      for (let entry = opened.readSync(); entry !== null && read < maxRead; entry = opened.readSync()) {
        read += 1;
        if (entry.isDirectory()) names.push(entry.name);
      }
    } finally {
      opened.closeSync();
    }
  } catch {
    // Nobody can read its files by this name.
  }
  return { names, read };
}

/**
 * The `.git` of the project and of the folders above it, up to a change of owner. Above the project, that of another user is
 * skipped, as in the search for the project: anyone may make one in `/tmp`. The search goes on above the first one: an agent
 * that makes one in the project would otherwise make the settings of the outer repository visible.
 */
function listRepositories(projectRoot: string): string[] {
  const owner = look(projectRoot, statSync)?.uid;
  const isTrusted = (stats: Stats | null): boolean => stats?.uid === ownUid() || stats?.uid === owner;
  const found = isFolder(join(projectRoot, '.git')) ? [join(projectRoot, '.git')] : [];
  for (let folder = projectRoot; folder !== dirname(folder);) {
    folder = dirname(folder);
    if (!isTrusted(look(folder, statSync))) break;
    const git = join(folder, '.git');
    if (isTrusted(look(git, lstatSync)) && isTrusted(look(git, statSync)) && isFolder(git)) found.push(git);
  }
  return found;
}

function isFolder(path: string): boolean {
  return look(path, statSync)?.isDirectory() === true;
}

/** Any problem of one place (a link to itself, a closed folder) means that nothing is there: an agent can make each. */
function look(path: string, stat: (path: string) => Stats): Stats | null {
  try {
    return stat(path);
  } catch {
    return null;
  }
}
