// Files of the workspace that the agent may not change, or not even see. Only what exists can be mounted over.
//
// Every folder between the workspace and such a file is bound onto itself ("pinned"): a folder that only contains a
// mount can be renamed away and made anew, one that is a mount cannot. A pin is writable, so none is made inside a
// folder that is guarded itself, nor in a workspace that is read-only as a whole.
import { realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { SandboxSpec } from './contract.ts';
import { SandboxSpecError } from './errors.ts';
import { canonical, findRealPath, findStats, leavesFolder } from './real-path.ts';

export interface Guarded {
  readonly source: string;
  readonly target: string;
  readonly isFolder: boolean;
}

export interface WorkspaceGuards {
  readonly pinned: readonly Guarded[];
  readonly readOnly: readonly Guarded[];
  readonly hidden: readonly Guarded[];
}

export function findGuarded(spec: SandboxSpec): WorkspaceGuards {
  const { workspace } = spec;
  const hiddenPaths = spec.hiddenPaths ?? [];
  const readOnlyPaths = workspace?.readOnly === true ? [] : spec.readOnlyPaths;
  const loosePaths = workspace?.readOnly === true ? [] : (spec.looseReadOnlyPaths ?? []);
  if (workspace === null || hiddenPaths.length + readOnlyPaths.length + loosePaths.length === 0)
    return { pinned: [], readOnly: [], hidden: [] };
  const root = realpathSync.native(workspace.source);
  const top = canonical(workspace.target);
  const guard = (place: string): Guarded => ({
    source: join(root, place),
    target: join(top, place),
    isFolder: findStats(join(root, place))?.isDirectory() ?? false,
  });
  const hidden = withoutCovered(hiddenPaths.flatMap((path) => findPlace(workspace.target, root, path)));
  const fixed = readOnlyPaths.flatMap((path) => findPlace(workspace.target, root, path));
  const loose = loosePaths.flatMap((path) => findPlace(workspace.target, root, path));
  const readOnly = withoutCovered([...fixed, ...loose]);
  const pinned = workspace.readOnly ? [] : listParents([...fixed, ...hidden]);
  return {
    pinned: pinned
      .filter((place) => ![...readOnly, ...hidden].some((each) => covers(each, place)))
      .map(guard),
    readOnly: readOnly.filter((place) => !hidden.some((each) => covers(each, place))).map(guard),
    hidden: hidden.map(guard),
  };
}

/** Where in the workspace the path really lies; nowhere when it does not exist, or a link leads out. */
function findPlace(target: string, root: string, path: string): string[] {
  const inside = relative(target, path);
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
