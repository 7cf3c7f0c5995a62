/** Inspects a state folder and changes nothing: ours, absent, adoptable, or refused and why (S1). */
import { readdirSync, type Stats } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { isSticky, isWritableByOthers, ownUid, statIfThere } from '@caisson/ground';
import {
  isAcceptedRoot,
  looksLikeState,
  readMarkedState,
  STATE_ID_FILE,
  toReal,
  type ResolvedConfig,
  type StateMarker,
} from '../config/index.ts';
import type { StateRefusal } from './state-errors.ts';
import { findTracked } from './state-tracked.ts';

/** Where the state of a project is, and where this user's Caisson stores its markers. */
export type StatePlace = Pick<ResolvedConfig, 'stateDir' | 'projectRoot' | 'folders'>;

export type StateStanding =
  | { readonly kind: 'ours'; readonly path: string }
  /** Nothing is there, or an empty folder: one can be made. */
  | { readonly kind: 'absent' }
  /** Private and untracked, but not known: `caisson trust` makes it ours. */
  | { readonly kind: 'adoptable'; readonly path: string; readonly detail: string; readonly remedy: string }
  | {
      readonly kind: 'refused';
      readonly reason: StateRefusal;
      readonly detail: string;
      readonly remedy: string;
    };

type Inspected =
  | Exclude<StateStanding, { kind: 'ours' }>
  | { readonly kind: 'ours'; readonly path: string; readonly marker: StateMarker; readonly index: string };

/** The state of the state folder. Never throws for a folder that is not ours: that is its answer. */
export function inspectStateFolder(place: StatePlace): StateStanding {
  const standing = inspectPlace(place);
  return standing.kind === 'ours' ? { kind: 'ours', path: standing.path } : standing;
}

/** The same with what opening it needs. */
export function inspectPlace(place: StatePlace): Inspected {
  const { stateDir, projectRoot } = place;
  const link = findLink(projectRoot, stateDir);
  if (link !== null) return refuse('link', `${link} is a link, and the state folder must be a real one.`);
  const path = toReal(stateDir);
  const parentProblem = findUnsafeParent(path, place);
  if (parentProblem !== null) return refuse('parent', parentProblem);
  const stats = statIfThere(path, 'target');
  if (stats?.isDirectory() === true) return inspectFolder(path, stats, place);
  const { problem } = findTracked(path, undefined);
  return problem === null ? { kind: 'absent' } : refuseTracked(path, problem);
}

function inspectFolder(path: string, stats: Stats, { folders }: StatePlace): Inspected {
  if (stats.uid !== ownUid())
    return refuse(
      'owner',
      `the state folder ${path} belongs to user ${stats.uid}, and this is user ${ownUid()}.`,
      'Run as its owner, or choose your own folder with --state-dir.',
    );
  const isEmpty = isEmptyState(path); // first: a process that adds something has put the id there before
  const marked = readMarkedState(path, folders.state);
  const tracked = findTracked(path, marked.kind === 'known' ? marked.marker.index : undefined);
  if (tracked.problem !== null) return refuseTracked(path, tracked.problem);
  if (statIfThere(join(path, '.git'), 'itself') !== null)
    return refuseTracked(path, 'it is a git repository of its own');
  if (marked.kind !== 'known' && isEmpty) return { kind: 'absent' };
  if ((stats.mode & 0o022) !== 0)
    return refuse(
      'writable',
      `other users can write the state folder ${path}.`,
      `Check its content, then remove that right (chmod 700 ${path}), or choose another with --state-dir.`,
    );
  if (marked.kind === 'known') return { kind: 'ours', path, marker: marked.marker, index: tracked.index };
  if (!looksLikeState(path))
    return refuse('not-ours', `${path} contains other files than Caisson's, and was not made by it.`);
  return {
    kind: 'adoptable',
    path,
    detail:
      marked.kind === 'copy'
        ? `the state folder ${path} is a copy of ${marked.of}, or was restored.`
        : `the state folder ${path} was not made here by this user's Caisson, or by an earlier version.`,
    remedy:
      'If it is yours, adopt it: caisson trust, which asks at a terminal, or caisson trust --yes. Otherwise remove it, or choose another with --state-dir.',
  };
}

/** The first link on the way from the project to a folder inside it. */
function findLink(projectRoot: string, stateDir: string): string | null {
  const way = relative(projectRoot, stateDir);
  if (way === '' || way === '..' || way.startsWith(`..${sep}`) || way.startsWith(sep)) return null;
  let path = projectRoot;
  for (const name of way.split(sep)) {
    path = join(path, name);
    const stats = statIfThere(path, 'itself');
    if (stats === null) return null;
    if (stats.isSymbolicLink()) return path;
  }
  return null;
}

/** A user who can rename things in the folder above can replace ours. */
function findUnsafeParent(path: string, { folders }: StatePlace): string | null {
  const parent = nearestFolder(dirname(path));
  const stats = statIfThere(parent, 'target');
  if (stats === null || isAcceptedRoot(parent, stats.uid, folders.state)) return null;
  if (stats.uid !== ownUid() && stats.uid !== 0)
    return `${parent}, which contains the state folder, belongs to user ${stats.uid}, and this is user ${ownUid()}.`;
  return isWritableByOthers(stats) && !isSticky(stats)
    ? `other users can write ${parent}, and so could replace the state folder in it.`
    : null;
}

function nearestFolder(folder: string): string {
  const isThere = statIfThere(folder, 'target') !== null;
  return isThere || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

/** Also what an interrupted creation leaves, and what a new disk contains. */
export function isEmptyState(path: string): boolean {
  return readdirSync(path).every(
    (name) => ['.gitignore', 'lost+found', STATE_ID_FILE].includes(name) || name.endsWith('.tmp'),
  );
}

function refuseTracked(path: string, problem: string): Inspected {
  return refuse(
    'tracked',
    `the state folder ${path} may come from the repository: ${problem}.`,
    'Remove it from the repository and from disk, or choose another with --state-dir.',
  );
}

function refuse(reason: StateRefusal, detail: string, remedy?: string): Inspected {
  return {
    kind: 'refused',
    reason,
    detail,
    remedy: remedy ?? 'Remove it, or choose another with --state-dir.',
  };
}
