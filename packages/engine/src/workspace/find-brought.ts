/**
 * Ignored folders that commands need: installed packages, virtual environments, caches of compilers. A worktree has none
 * of them; the sandbox shows the user's own with a private overlay on top (decision 0027).
 *
 * F1  Only what the workspace does not have is brought: what git ignores and a tool of the project is known to need, or the
 *     user names; and, if named, a file that is too large for the baseline. A file is copied, as with `workspace.include`.
 * F2  No link is followed: neither a folder that is one, nor one on the way to it.
 * F3  Nothing that Caisson keeps out is brought.
 * F4  No folder is searched: the index lists the files of the known tools, and only the places beside them are looked at.
 */
import { lstatSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { createGit, ifErrno, listIndexedNames } from '@caisson/ground';
import { MAX_BROUGHT } from '@caisson/protocol';
import { findCachesOf, type Brought, type FoundCaches } from './brought-caches.ts';
import { IS_LINK, kindOf, type Kind } from './brought-places.ts';
import { MANIFESTS, NEEDED_AT_TOP, toolsOf } from './brought-tools.ts';
import type { PrepareOptions } from './contract.ts';
import { splitNames } from './hidden-work.ts';
import { nameSome } from './name-some.ts';

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
const MAX_MANIFESTS = 2000;

export interface FoundFolders extends FoundCaches {
  /** Relative to the repository's top. */
  readonly folders: readonly string[];
  /** Files to copy, relative to the project. */
  readonly files: readonly string[];
}

interface Places {
  readonly top: string;
  readonly gitDir: string;
  /** Any object id of the repository; shows its format. */
  readonly like: string;
  readonly home: string;
  /** Files that are too large for the baseline, relative to `top`. */
  readonly oversized?: readonly string[];
}

/** `gitDir` is ours: its index has the files of the workspace, and it has the repository's ignore rules. */
export async function findBrought(
  options: PrepareOptions,
  { top, gitDir, like, home, oversized = [] }: Places,
): Promise<FoundFolders> {
  const { detect = false, paths = [] } = options.bring ?? {};
  const refused = paths.flatMap((path) => {
    const why = whyNotBrought(options, top, path);
    return why === null ? [] : [{ path, why }];
  });
  const named = paths
    .filter((given) => refused.every(({ path }) => path !== given))
    .map((path) => placeOf(options, top, path));
  const manifests = detect ? await listManifests(gitDir, like) : [];
  const beside = manifests.flatMap((path) =>
    toolsOf(path).flatMap(({ needs = [] }) => needs.map((name) => join(dirname(path), name))),
  );
  const places = [...new Set([...named, ...(detect ? NEEDED_AT_TOP : []), ...beside])].filter(
    (path) => kindOf(top, path) !== null && !isKeptOut(options, join(top, path)),
  );
  const ignored = await listIgnored(top, gitDir, places);
  const isMissing = (path: string): boolean => ignored.has(path) || oversized.includes(path);
  const ofKind = (kind: Kind): string[] => places.filter((path) => kindOf(top, path) === kind);
  const folders = ofKind('folder').filter((path) => ignored.has(path));
  const { caches, warnings } = findCachesOf(
    { top, manifests, folders: folders.map((path) => join(top, path)) },
    home,
  );
  const fitting = folders.slice(0, MAX_BROUGHT - caches.length);
  return {
    folders: fitting,
    files: ofKind('file')
      .filter(isMissing)
      .map((path) => relative(relative(top, options.projectRoot), path)),
    caches,
    warnings: [
      ...ofKind('link').map((path) => `${path} ${IS_LINK}, and was not brought`),
      ...warnings,
      ...refused.map(({ path, why }) => `${path} ${why}, and was not brought`),
      ...named
        .filter((path) => !isMissing(path))
        .map((path) => `--bring: ${path} is not ignored by git, so the workspace has it already`),
      ...describeLeftOut(folders.slice(fitting.length)),
    ],
  };
}

/** Why a path that was named cannot be brought, as the end of a sentence; `null` if it can. */
export function whyNotBrought(
  options: Pick<PrepareOptions, 'projectRoot' | 'keepOut' | 'stateDir' | 'sandboxed'>,
  top: string,
  given: string,
): string | null {
  const path = placeOf(options, top, given);
  if (path === '' || path === '..' || path.startsWith('../') || path.split('/').includes('.git'))
    return 'is not inside the repository';
  if (isKeptOut(options, join(top, path))) return 'is kept out of every run';
  const kind = kindOf(top, path);
  if (kind === null) return 'does not exist';
  if (kind === 'link') return IS_LINK;
  return kind === 'folder' && options.sandboxed === false
    ? 'is a folder, which needs a sandbox to be seen in'
    : null;
}

/** Relative to the repository's top. */
function placeOf({ projectRoot }: Pick<PrepareOptions, 'projectRoot'>, top: string, given: string): string {
  return relative(top, resolve(projectRoot, given));
}

function describeLeftOut(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  return [
    `${paths.length} more folders were not brought, because at most ${MAX_BROUGHT} are: ${nameSome(paths)}`,
  ];
}

/** In place everything else is there anyway. */
export async function findCaches(
  options: PrepareOptions,
  { top, gitDir, like, home }: Places,
): Promise<FoundCaches> {
  const manifests = options.bring?.detect === true ? await listManifests(gitDir, like) : [];
  const places = NEEDED_AT_TOP.filter((path) => manifests.length > 0 && kindOf(top, path) === 'folder');
  const ignored = await listIgnored(top, gitDir, places);
  const environments = places.filter((path) => ignored.has(path)).map((path) => join(top, path));
  return findCachesOf({ top, manifests, folders: environments }, home);
}

/** Makes the mount points in a worktree; a folder that it has already, copied or committed, is not brought. */
export function placeFolders(folders: readonly string[], top: string, worktree: string): Brought {
  return folders.flatMap((path) => {
    if (!isFree(worktree, path)) return [];
    mkdirSync(join(worktree, path), { recursive: true });
    return [{ path, source: join(top, path), target: join(top, path) }];
  });
}

/** Only real folders are on the way there. */
function isFree(root: string, path: string): boolean {
  for (let parent = dirname(path); parent !== '.'; parent = dirname(parent))
    if (lstatSync(join(root, parent), { throwIfNoEntry: false })?.isDirectory() === false) return false;
  return lstatSync(join(root, path), { throwIfNoEntry: false }) === undefined;
}

/** F4 */
async function listManifests(gitDir: string, like: string): Promise<string[]> {
  const index = await readFile(join(gitDir, 'index')).catch(ifErrno(null, 'ENOENT'));
  if (index === null) return [];
  return listIndexedNames(index, like.length / 2, new Set(MANIFESTS)).slice(0, MAX_MANIFESTS);
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

/** F3 */
function isKeptOut(
  { keepOut = [], stateDir }: Pick<PrepareOptions, 'keepOut' | 'stateDir'>,
  place: string,
): boolean {
  return [...keepOut, stateDir].some((path) => place === path || place.startsWith(`${path}/`));
}
