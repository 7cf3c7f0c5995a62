// Files of the workspace that the agent may not change, or not even see. Only existing files can be mounted over; a
// missing masked folder was made for the mount (mount-points.ts).
//
// Every folder between the workspace and such a file is bound onto itself ("pinned"): a folder that only contains a
// mount can be renamed and made again, one that is a mount cannot. A pin is writable, so none is made inside a guarded
// folder, nor in a workspace that is read-only as a whole.
import { realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { SandboxMask, SandboxSpec } from './contract.ts';
import { SandboxSpecError } from './errors.ts';
import { canonical, findRealPath, findStats, leavesFolder } from './real-path.ts';

export interface Guarded {
  readonly source: string;
  readonly target: string;
  readonly isFolder: boolean;
}

export interface Masked {
  readonly target: string;
  readonly mask: SandboxMask;
  /** The part of the folder's own content that stays visible. */
  readonly kept: readonly Guarded[];
}

export interface WorkspaceGuards {
  readonly pinned: readonly Guarded[];
  readonly readOnly: readonly Guarded[];
  readonly hidden: readonly Guarded[];
  readonly masked: readonly Masked[];
}

export function findGuarded(spec: SandboxSpec): WorkspaceGuards {
  const { workspace } = spec;
  const hiddenPaths = spec.hiddenPaths ?? [];
  const masks = spec.masks ?? [];
  const readOnlyPaths = workspace?.readOnly === true ? [] : spec.readOnlyPaths;
  const loosePaths = workspace?.readOnly === true ? [] : (spec.looseReadOnlyPaths ?? []);
  const count = hiddenPaths.length + readOnlyPaths.length + loosePaths.length + masks.length;
  if (workspace === null || count === 0) return { pinned: [], readOnly: [], hidden: [], masked: [] };
  const root = realpathSync.native(workspace.source);
  const top = canonical(workspace.target);
  const guard = (place: string): Guarded => ({
    source: join(root, place),
    target: join(top, place),
    isFolder: findStats(join(root, place))?.isDirectory() ?? false,
  });
  const find = (paths: readonly string[]): string[] =>
    paths.flatMap((path) => findPlace(workspace.target, root, path));
  const hidden = withoutCovered(find(hiddenPaths));
  const masked = findMasked(masks, hidden, find);
  const unseen = [...hidden, ...masked.map(({ place }) => place)];
  const fixed = find(readOnlyPaths);
  const readOnly = withoutCovered([...fixed, ...find(loosePaths)]);
  const pinned = workspace.readOnly ? [] : listParents([...fixed, ...unseen]);
  return {
    pinned: pinned
      .filter((place) => ![...readOnly, ...unseen].some((each) => covers(each, place)))
      .map(guard),
    readOnly: readOnly.filter((place) => !unseen.some((each) => covers(each, place))).map(guard),
    hidden: hidden.filter((place) => !masked.some((each) => covers(each.place, place))).map(guard),
    masked: masked.map(({ place, mask }) => ({
      target: join(top, place),
      mask,
      kept: listKept(join(root, place), mask).map((name) => guard(join(place, name))),
    })),
  };
}

/** The same for the folders in `layers`: what is guarded there is in the host's folder, not in the workspace. */
export function findGuardedInLayers(spec: SandboxSpec): Pick<WorkspaceGuards, 'readOnly' | 'hidden'> {
  const find = (paths: readonly string[]): Guarded[] =>
    (spec.layers?.folders ?? []).flatMap(({ source, target }) =>
      paths
        .filter((path) => path.startsWith(`${target}/`))
        .flatMap((path) => findPlace(target, source, path))
        .map((place) => ({
          source: join(source, place),
          target: join(canonical(target), place),
          isFolder: findStats(join(source, place))?.isDirectory() ?? false,
        })),
    );
  return {
    readOnly: find([...spec.readOnlyPaths, ...(spec.looseReadOnlyPaths ?? [])]),
    hidden: find(spec.hiddenPaths ?? []),
  };
}

/** One mask a place, and none where nothing is shown anyway. */
function findMasked(
  masks: readonly SandboxMask[],
  hidden: readonly string[],
  find: (paths: readonly string[]) => string[],
): { place: string; mask: SandboxMask }[] {
  const byPlace = new Map<string, SandboxMask>();
  for (const mask of masks) for (const place of find([mask.path])) byPlace.set(place, mask);
  return [...byPlace]
    .filter(([place]) => !hidden.some((each) => covers(each, place)))
    .map(([place, mask]) => ({ place, mask }));
}

/** No targets of links: the repository chooses them. */
function listKept(folder: string, mask: SandboxMask): string[] {
  if (mask.kind === 'file') return [];
  return mask.keep.filter((path) => {
    const real = findRealPath(join(folder, path));
    return !(path in mask.files) && real === join(folder, path);
  });
}

/** The real place of the path in the workspace; nowhere when it does not exist, or a link leads out. */
function findPlace(target: string, root: string, path: string): string[] {
  const inside = path.startsWith(`${target}/`) ? path.slice(target.length + 1) : relative(target, path);
  if (leavesFolder(inside))
    throw new SandboxSpecError(`The guarded path ${path} is not inside the workspace ${target}.`);
  const real = findRealPath(join(root, inside));
  if (real === null) return [];
  const place = relative(root, real);
  return leavesFolder(place) || place === '' ? [] : [place];
}

function listParents(places: readonly string[]): string[] {
  const parents = new Set<string>();
  for (const place of places)
    for (let parent = dirname(place); parent !== '.'; parent = dirname(parent)) parents.add(parent);
  return [...parents];
}

function withoutCovered(places: readonly string[]): string[] {
  const all = [...new Set(places)];
  return all.filter((place) => !all.some((other) => other !== place && covers(other, place)));
}

function covers(folder: string, place: string): boolean {
  return place === folder || place.startsWith(`${folder}/`);
}
