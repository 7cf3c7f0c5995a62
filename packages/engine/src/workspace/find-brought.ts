/**
 * Ignored folders that commands need: installed packages, virtual environments, caches of compilers. A worktree has none
 * of them; the sandbox shows the user's own with a private layer on top (decision 0027).
 *
 * F1  Only what git ignores is brought: what a tool of the project is known to need, and what the user names. A file is
 *     copied, as with `workspace.include`.
 * F2  No link is followed: neither a folder that is one, nor one on the way to it.
 * F3  Nothing that Caisson keeps out is brought.
 * F4  No folder is searched: git lists the files of the known tools, and only the places beside them are looked at.
 */
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

import { createGit } from '@caisson/ground';
import { MAX_BROUGHT } from '@caisson/protocol';

import type { PreparedWorkspace, PrepareOptions } from './contract.ts';
import { WorkspaceError } from './errors.ts';
import { splitNames } from './hidden-work.ts';

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const MAX_MANIFESTS = 2000;

interface Tool {
  readonly manifests: readonly string[];
  /** Beside the manifest. */
  readonly needs: readonly string[];
  /** Caches in HOME that it needs without network. */
  readonly caches?: readonly string[];
}

const TOOLS: readonly Tool[] = [
  {
    manifests: ['package.json'],
    needs: [
      ...['node_modules', '.yarn/cache', '.yarn/unplugged', '.yarn/install-state.gz'],
      ...['.pnp.cjs', '.pnp.loader.mjs', '.pnp.data.json'],
    ],
  },
  {
    manifests: ['pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'Pipfile', 'tox.ini'],
    needs: ['.venv', 'venv', '__pypackages__', '.tox', '.nox', '.eggs'],
  },
  { manifests: ['Cargo.toml'], needs: ['target', 'vendor'], caches: ['.cargo/registry', '.cargo/git'] },
  { manifests: ['go.mod'], needs: ['vendor'], caches: ['go/pkg/mod', '.cache/go-build'] },
  { manifests: ['pom.xml'], needs: ['target'], caches: ['.m2/repository', '.m2/wrapper'] },
  {
    manifests: ['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'],
    needs: ['.gradle', 'build'],
    caches: ['.gradle/caches', '.gradle/wrapper'],
  },
  { manifests: ['composer.json', 'Gemfile'], needs: ['vendor', '.bundle'] },
  { manifests: ['mix.exs'], needs: ['deps', '_build'] },
];
/** At the top people also use them without a manifest. */
const AT_TOP = ['node_modules', '.venv', 'venv'];

export type Brought = NonNullable<PreparedWorkspace['brought']>;

export interface FoundFolders {
  /** Relative to the repository's top. */
  readonly folders: readonly string[];
  /** Files to copy, relative to the project. */
  readonly files: readonly string[];
  /** Caches, relative to HOME. */
  readonly caches: readonly string[];
  readonly warnings: readonly string[];
}

/** `gitDir` is ours: its index has the files of the workspace, and it has the repository's ignore rules. */
export async function findBrought(
  options: PrepareOptions,
  { top, gitDir, home }: { readonly top: string; readonly gitDir: string; readonly home: string },
): Promise<FoundFolders> {
  const { detect = false, paths = [] } = options.bring ?? {};
  const project = relative(top, options.projectRoot);
  const named = paths.map((path) => checkNamed(join(project, normalize(path)), path));
  const manifests = detect ? await listManifests(top, gitDir) : [];
  const beside = manifests.flatMap((path) =>
    toolsOf(path).flatMap(({ needs }) => needs.map((name) => join(dirname(path), name))),
  );
  const places = [...new Set([...named, ...(detect ? AT_TOP : []), ...beside])].filter(
    (path) => kindOf(top, path) !== null && !isKeptOut(options, join(top, path)),
  );
  const ignored = await listIgnored(top, gitDir, places);
  const ofKind = (kind: Kind): string[] => places.filter((path) => kindOf(top, path) === kind);
  return {
    folders: ofKind('folder')
      .filter((path) => ignored.has(path))
      .slice(0, MAX_BROUGHT),
    files: ofKind('file')
      .filter((path) => ignored.has(path))
      .map((path) => relative(project, path)),
    caches: [
      ...new Set(manifests.flatMap((path) => toolsOf(path).flatMap(({ caches = [] }) => caches))),
    ].filter((path) => kindOf(home, path) === 'folder'),
    warnings: [
      ...ofKind('link').map((path) => `${path} is a link, or is behind one, and was not brought`),
      ...named.filter((path) => !places.includes(path)).map((path) => `--bring: ${path} does not exist`),
      ...named
        .filter((path) => places.includes(path) && kindOf(top, path) !== 'link' && !ignored.has(path))
        .map((path) => `--bring: ${path} is not ignored by git, so the workspace has it already`),
    ],
  };
}

/** Makes the mount points in a worktree; a folder that it has already, copied or committed, is not brought. */
export function placeFolders(folders: readonly string[], top: string, worktree: string): Brought {
  return folders.flatMap((path) => {
    if (!isFree(worktree, path)) return [];
    mkdirSync(join(worktree, path), { recursive: true });
    return [{ path, source: join(top, path), target: join(top, path) }];
  });
}

export function placeCaches(caches: readonly string[], home: string): Brought {
  return caches.map((path) => {
    const place = join(home, path);
    return { path: `~/${path}`, source: place, target: place };
  });
}

/** Only real folders are on the way there. */
function isFree(root: string, path: string): boolean {
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent))
    if (lstatSync(join(root, parent), { throwIfNoEntry: false })?.isDirectory() === false) return false;
  return lstatSync(join(root, path), { throwIfNoEntry: false }) === undefined;
}

function checkNamed(path: string, given: string): string {
  const clean = path.replace(/\/$/, '');
  if (clean !== '.' && clean !== '..' && !clean.startsWith('../') && !clean.split('/').includes('.git'))
    return clean;
  throw new WorkspaceError(`--bring ${JSON.stringify(given)} is not inside the repository.`, {
    remedy: 'Name an ignored file or folder relative to the project.',
  });
}

const toolsOf = (manifest: string): readonly Tool[] =>
  TOOLS.filter(({ manifests }) =>
    manifests.some((name) => manifest === name || manifest.endsWith(`/${name}`)),
  );

/** F4 */
async function listManifests(top: string, gitDir: string): Promise<string[]> {
  const pathspec = TOOLS.flatMap(({ manifests }) => manifests.map((name) => `:(glob)**/${name}`));
  const git = createGit({ cwd: top, gitDir, workTree: top });
  const listed = await git.run(['ls-files', '-z', '--cached', '--', ...pathspec], {
    maxOutputBytes: MAX_OUTPUT_BYTES,
  });
  return splitNames(listed.stdout).slice(0, MAX_MANIFESTS);
}

/** F1 */
async function listIgnored(
  top: string,
  gitDir: string,
  paths: readonly string[],
): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const git = createGit({ cwd: top, gitDir, workTree: top });
  const answered = await git.run(['check-ignore', '-z', '--stdin'], {
    stdin: paths.map((path) => `${path}\0`).join(''),
    okExitCodes: [0, 1],
    maxOutputBytes: MAX_OUTPUT_BYTES,
  });
  return new Set(splitNames(answered.stdout));
}

type Kind = 'folder' | 'file' | 'link';

/** F2. `null` if nothing usable is there. */
function kindOf(root: string, path: string): Kind | null {
  const stats = lstatSync(join(root, path), { throwIfNoEntry: false });
  if (stats === undefined) return null;
  if (stats.isSymbolicLink() || realpathSync.native(join(root, path)) !== join(root, path)) return 'link';
  return stats.isDirectory() ? 'folder' : stats.isFile() ? 'file' : null;
}

/** F3 */
function isKeptOut({ keepOut = [], stateDir }: PrepareOptions, place: string): boolean {
  return [...keepOut, stateDir].some((path) => place === path || place.startsWith(`${path}/`));
}
