/** Caches in HOME that the tools of a project need without a network. Settings and log-ins lie beside them, and stay out. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, realpathSync, type Dirent } from 'node:fs';
import { dirname, join } from 'node:path';
import { readSmallFileSync, unlessErrno } from '@caisson/ground';
import { IS_LINK, kindOf, type Kind } from './brought-places.ts';
import { isOfPython, PYTHONS, toolsOf } from './brought-tools.ts';
import type { PreparedWorkspace } from './contract.ts';

export type Brought = NonNullable<PreparedWorkspace['brought']>;

export interface FoundCaches {
  /** Relative to HOME. */
  readonly caches: readonly string[];
  readonly warnings: readonly string[];
}

export interface CacheUser {
  readonly top: string;
  /** Relative to `top`. */
  readonly manifests: readonly string[];
  /** Those of the project that are brought, as absolute paths. */
  readonly folders: readonly string[];
}

export function findCachesOf({ top, manifests, folders }: CacheUser, home: string): FoundCaches {
  const root = realHome(home);
  const wanted = new Set([
    ...manifests.flatMap((path) => toolsOf(path).flatMap(({ caches = [] }) => caches)),
    ...(manifests.some((path) => hasPoetryEnvironment(root, dirname(join(top, path)))) ? [POETRY] : []),
    ...(manifests.some(isOfPython) ? listPackagesOfUser(root) : []),
    ...pythonsOf(folders, home),
  ]);
  const ofKind = (kind: Kind): string[] => [...wanted].filter((path) => kindOf(root, path) === kind);
  const found = ofKind('folder');
  const withPasswords = found.filter((path) =>
    repositoriesFor(path).some((each) => hasPasswords(join(root, each))),
  );
  return {
    caches: found.filter((path) => !withPasswords.includes(path)),
    warnings: [
      ...ofKind('link').map((path) => `~/${path} ${IS_LINK}, and was not brought`),
      ...withPasswords.map(
        (path) =>
          `~/${path} has addresses with passwords, and was not brought: cargo vendor works without it`,
      ),
    ],
  };
}

export function placeCaches(caches: readonly string[], home: string): Brought {
  return caches.map((path) => ({
    path: `~/${path}`,
    source: join(realHome(home), path),
    target: join(home, path),
  }));
}

/** HOME itself may be a link. */
const realHome = (home: string): string => (existsSync(home) ? realpathSync.native(home) : home);

const POETRY = '.cache/pypoetry/virtualenvs';

/** Poetry names an environment after the project and its path. Many projects keep its lock file out of git. */
function hasPoetryEnvironment(root: string, project: string): boolean {
  const digest = createHash('sha256').update(project).digest('base64url').slice(0, 8);
  return listNames(join(root, POETRY)).some((name) => name.includes(`-${digest}-py`));
}

/** What `pip install --user` installs, and programs in `~/.local/bin` import. */
function listPackagesOfUser(root: string): string[] {
  const names = listNames(join(root, '.local/lib')).filter((name) => /^python\d[\d.]*$/.test(name));
  return names.map((name) => `.local/lib/${name}`);
}

const listNames = (folder: string): string[] =>
  unlessErrno(() => readdirSync(folder), [], 'ENOENT', 'ENOTDIR', 'EACCES');

/** A virtual environment names the Python it was made with; only known places count. */
function pythonsOf(folders: readonly string[], home: string): string[] {
  const homes = [home, realHome(home)];
  const bases = folders.map((folder) => {
    const text = readText(join(folder, 'pyvenv.cfg'));
    return /^home[ \t]*=[ \t]*(\S.*)$/m.exec(text)?.[1]?.trim();
  });
  return PYTHONS.filter((path) =>
    bases.some((base) => homes.some((each) => base?.startsWith(`${join(each, path)}/`) === true)),
  );
}

/** The folders whose passwords decide about a cache: parts of `~/.cargo/git` are fetched from each other. */
function repositoriesFor(cache: string): string[] {
  if (cache.startsWith('.cargo/git/')) return ['.cargo/git'];
  return cache === '.cargo/registry' ? ['.cargo/registry/index'] : [];
}

/** Repositories that a tool fetched remember where from, with the password if the address had one. */
function hasPasswords(folder: string): boolean {
  const entries = unlessErrno(
    () => readdirSync(folder, { withFileTypes: true }),
    [],
    ...(['ENOENT', 'ENOTDIR', 'EACCES'] as const),
  );
  const names = new Set(entries.map(({ name }) => name));
  const remembered = ['FETCH_HEAD', 'config'].filter((name) => names.has(name));
  const isRepository = names.has('FETCH_HEAD') || (names.has('HEAD') && names.has('objects'));
  if (isRepository && remembered.some((file) => /:\/\/[^/\s]*@/.test(readText(join(folder, file)))))
    return true;
  return entries.filter(isSearched(isRepository, names)).some(({ name }) => hasPasswords(join(folder, name)));
}

/** Of a checkout without submodules only its `.git` has addresses, and of that only its submodules. */
function isSearched(isRepository: boolean, names: ReadonlySet<string>): (entry: Dirent) => boolean {
  const isPlain = names.has('.git') && !names.has('.gitmodules');
  const only = isRepository ? 'modules' : isPlain ? '.git' : null;
  return (entry) => entry.isDirectory() && (only === null || entry.name === only);
}

/** Larger ones, and links, are not what a tool wrote. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

function readText(path: string): string {
  try {
    return readSmallFileSync(path, MAX_TEXT_BYTES)?.text ?? '';
  } catch {
    return '';
  }
}
