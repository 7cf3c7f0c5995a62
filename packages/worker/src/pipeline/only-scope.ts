/**
 * Which places are read-only so that an agent cannot change what its task is not about. Only what is there can be mounted: a
 * new file beside a folder of the scope, and what a wildcard leaves out, are found afterwards in the patch.
 */
import { join, relative } from 'node:path';
import { findScopePlace } from '@caisson/policy';
import type { Job } from '@caisson/protocol';
import { listFolder } from '../view/index.ts';

/** Every mount makes the next one slower. */
const MAX_PLACES = 512;

/** As seen inside; null if they are too many. */
export function findOutsidePlaces({ task, workspace }: Pick<Job, 'task' | 'workspace'>): string[] | null {
  const { mountPath, cwd, path } = workspace;
  const kept = task.scope
    .flatMap((pattern) => findScopePlace(pattern) ?? [])
    .map((place) => join(cwd, place));
  const own = [cwd, mountPath].flatMap((top) =>
    ['.git', '.caisson', 'outputs'].map((name) => join(top, name)),
  );
  const isOnWay = (place: string): boolean => [...kept, cwd].some((each) => each.startsWith(`${place}/`));
  const found: string[] = [];
  const folders = [mountPath];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of listFolder(join(path, relative(mountPath, folder)))) {
      const place = join(folder, entry.name);
      // A link is followed by a mount, and could lead into the scope.
      if (kept.includes(place) || own.includes(place) || entry.isSymbolicLink()) continue;
      if (entry.isDirectory() && (place === cwd || isOnWay(place))) folders.push(place);
      else found.push(place);
      if (found.length > MAX_PLACES) return null;
    }
  }
  return found;
}
