/**
 * Which folder is the project: the nearest `caisson.yaml` or state folder at or below the top of the git repository,
 * else that top, else the current folder.
 *
 * P1  The search upwards ends at the git top, at a change of owner, and outside of git at a folder that others can
 *     write.
 * P2  Files of another user (except root's), or in a folder that others can write, are refused and never skipped.
 * P3  A state folder counts when this user's Caisson made it. An unknown folder that looks like one is refused where it
 *     would change the project; elsewhere, the code that opens it decides.
 */
import { existsSync, lstatSync, realpathSync, statSync, type Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isSticky, isWritableByOthers, ownUid } from '@caisson/ground';
import { isAcceptedRoot } from './accepted-roots.ts';
import { ProjectRefusedError } from './errors.ts';
import { readMarkedState } from './state-marker.ts';

export const CONFIG_FILE_NAME = 'caisson.yaml';
/** A name that people try, and that is never read. */
const MISNAMED = 'caisson.yml';
export const STATE_FOLDER_NAME = '.caisson';

/** What only a state folder contains, and no other folder of that name, such as a bundle's `.caisson/setup.sh`. */
const STATE_NAMES = ['ledger.db', 'store', 'runtime', 'worktrees', 'tmp', 'trash', 'registry', 'sessions'];

export interface ProjectRootOptions {
  /** The user's folder for Caisson's records, `$XDG_STATE_HOME/caisson`. */
  readonly userState: string;
  /** A flag or a variable names the state folder: another one counts only when it is known. */
  readonly isStateElsewhere?: boolean;
}

export interface FoundProject {
  readonly root: string;
  /** Why its files must not be used; null when they may. */
  readonly refusal: ProjectRefusedError | null;
}

/** The project that a folder belongs to. Throws {@link ProjectRefusedError} where its files must not be used. */
export function findProjectRoot(cwd: string, options: ProjectRootOptions): string {
  const { root, refusal } = findProject(cwd, options);
  if (refusal !== null) throw refusal;
  return root;
}

/** The same as a value, for callers that report or ask. */
export function findProject(cwd: string, options: ProjectRootOptions): FoundProject {
  const start = toReal(resolve(cwd));
  const stats = statSync(start, { throwIfNoEntry: false });
  if (stats === undefined) return { root: start, refusal: null };
  const acceptedOwner = findAcceptedOwner(start, options);
  const isAccepted = acceptedOwner !== null;
  const isTrusted = ({ uid }: Pick<Stats, 'uid'>): boolean =>
    uid === ownUid() || uid === acceptedOwner || (uid === 0 && stats.uid === 0);
  const top = findGitTop(start, isTrusted);
  const territory = { start, top, isTrusted, isAccepted };
  if (!isTrusted(stats)) return { root: top ?? start, refusal: refuseOwner(start, stats) };
  for (const folder of listFolders(territory)) {
    const found = examineFolder(folder, territory, options);
    if (found !== null) return found;
  }
  return { root: top ?? start, refusal: null };
}

/** A sentence about a file that looks like the configuration and is not read; null if there is none. */
export function describeMisnamedConfig(projectRoot: string, cwd: string): string | null {
  const file = [cwd, projectRoot].map((folder) => join(folder, MISNAMED)).find(isNamed);
  return file === undefined ? null : `${file} is not read: rename it to ${CONFIG_FILE_NAME}.`;
}

/** True also for a dangling link: what it should have contained must not be skipped silently. */
export function isNamed(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Whether a folder has what only a state folder has. A link may lead to one. */
export function looksLikeState(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return stats?.isSymbolicLink() === true;
  return STATE_NAMES.some((name) => isNamed(join(folder, name)));
}

interface Territory {
  readonly start: string;
  readonly top: string | null;
  readonly isAccepted: boolean;
  isTrusted(stats: Pick<Stats, 'uid'>): boolean;
}

/** P1. `.git` is a folder in a clone and a file in a worktree or submodule; another user's does not count. */
function findGitTop(start: string, isTrusted: Territory['isTrusted']): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    const dotGit = lstatSync(join(folder, '.git'), { throwIfNoEntry: false });
    if (dotGit !== undefined && (isTrusted(dotGit) || dotGit.uid === 0)) return folder;
    const parent = dirname(folder);
    if (parent === folder || !isTrusted(statSync(parent))) return null;
  }
}

/** P1 */
function* listFolders({ start, top, isTrusted, isAccepted }: Territory): Generator<string> {
  yield start;
  for (let folder = start; folder !== top && folder !== dirname(folder);) {
    folder = dirname(folder);
    const stats = statSync(folder);
    if (!isTrusted(stats)) return;
    if (top === null && !isAccepted && isWritableByOthers(stats)) return;
    yield folder;
  }
}

/** Null when nothing here makes it a project. */
function examineFolder(
  folder: string,
  territory: Territory,
  { userState, isStateElsewhere = false }: ProjectRootOptions,
): FoundProject | null {
  const file = join(folder, CONFIG_FILE_NAME);
  if (isNamed(file)) return { root: folder, refusal: findUnsafeFile(file, territory) };
  const state = join(folder, STATE_FOLDER_NAME);
  if (!isNamed(state) || !(statSync(state, { throwIfNoEntry: false })?.isDirectory() ?? true)) return null;
  if (readMarkedState(state, userState).kind === 'known') return { root: folder, refusal: null };
  const isProjectAnyway = folder === (territory.top ?? territory.start);
  if (isProjectAnyway) return { root: folder, refusal: null };
  if (isStateElsewhere || !looksLikeState(state)) return null;
  return { root: folder, refusal: refuseState(state) }; // P3
}

/** P2. The file, its target if it is a link, and the folder around it. */
function findUnsafeFile(file: string, { isTrusted, isAccepted }: Territory): ProjectRefusedError | null {
  const folder = dirname(file);
  if (!isAccepted && isWritableByOthers(statSync(folder))) return refuseWritable(folder, file);
  for (const stats of [lstatSync(file), statTarget(file)]) {
    if (stats === null) continue;
    if (!isTrusted(stats) && stats.uid !== 0) return refuseOwner(file, stats);
    if (!isAccepted && stats.isFile() && isWritableByOthers(stats)) return refuseWritable(file, file);
  }
  return null;
}

/** Null for a dangling link: reading it reports that, as it does for what is no file. */
function statTarget(file: string): Stats | null {
  try {
    return statSync(file);
  } catch {
    return null;
  }
}

/** An accepted folder covers what its owner has below it. */
function findAcceptedOwner(start: string, { userState }: ProjectRootOptions): number | null {
  if (!existsSync(join(userState, 'roots'))) return null;
  for (let folder = start; ; folder = dirname(folder)) {
    const uid = statSync(folder, { throwIfNoEntry: false })?.uid;
    if (uid !== undefined && isAcceptedRoot(folder, uid, userState)) return uid;
    if (dirname(folder) === folder) return null;
  }
}

function refuseOwner(path: string, { uid }: Pick<Stats, 'uid'>): ProjectRefusedError {
  return new ProjectRefusedError(
    `${path} belongs to user ${uid}, and this is user ${ownUid()}: it is not used.`,
    path,
    statSync(path).isDirectory()
      ? {
          remedy: 'Run as its owner, or make it yours with chown; caisson trust accepts it as it is.',
          way: { kind: 'accept', folder: path },
        }
      : { remedy: 'Run as its owner, or make it yours with chown.', way: { kind: 'none' } },
  );
}

function refuseWritable(path: string, file: string): ProjectRefusedError {
  return new ProjectRefusedError(`other users can write ${path}, so ${file} may be theirs.`, path, {
    remedy: isSticky(statSync(path))
      ? 'Move it to your own folder; caisson trust accepts it as it is.'
      : `Remove that right (chmod go-w ${path}), or move the project; caisson trust accepts it as it is.`,
    way: { kind: 'accept', folder: dirname(file) },
  });
}

function refuseState(state: string): ProjectRefusedError {
  return new ProjectRefusedError(
    `${state} looks like a state folder, and Caisson did not make it here for this user.`,
    state,
    {
      remedy: `Remove it, or name another with --state-dir. If it is yours from before, adopt it: caisson trust (--yes without a terminal), in ${dirname(state)}.`,
      way: { kind: 'adopt', stateDir: state },
    },
  );
}

/** The path itself where it cannot be resolved: the code that uses it reports that. */
export function toReal(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
