// Groups that were never removed: their host was killed, and with it the project that knew them.
import { readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isErrno } from '../platform/index.ts';
import { findV2Parent } from './create-v2.ts';
import { emptyMemory, listMembers, listSubgroups } from './group-files.ts';
import { readHierarchies } from './hierarchies.ts';

export interface OwnGroup {
  readonly name: string;
  ageMs(): number;
  /** Removes it if it is empty; never kills a process. A run between two of its commands has an empty group, too. */
  removeIfEmpty(): Promise<boolean>;
}

/** Every group of ours. Nothing is read of one before it is asked: hundreds may be left, and each run comes by here. */
export function listOwnCgroups(parentHint = 'caisson'): OwnGroup[] {
  const { v1, v2 } = readHierarchies();
  const parents = [...Object.values(v1).map(({ mount }) => mount), v2 === null ? null : findV2Parent(v2)];
  const folders = [...new Set(parents.filter((parent) => parent !== null))].map((parent) =>
    join(parent, parentHint),
  );
  const foldersOf = Map.groupBy(
    folders.flatMap((folder) => listNames(folder).map((name) => ({ name, path: join(folder, name) }))),
    ({ name }) => name,
  );
  return [...foldersOf].map(([name, found]) => {
    const own = found.map(({ path }) => path);
    return {
      name,
      ageMs: () => Date.now() - Math.max(...own.map(changedAtMs)),
      async removeIfEmpty() {
        if (own.some((folder) => listMembers(folder).length > 0)) return false;
        return (await Promise.all(own.map(removeEmpty))).every((isGone) => isGone);
      },
    };
  });
}

function changedAtMs(folder: string): number {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EACCES')) return [];
    throw error;
  }
}

/** The kernel itself refuses while a process is in it. */
async function removeEmpty(folder: string): Promise<boolean> {
  for (const subgroup of listSubgroups(folder)) await removeEmpty(subgroup);
  if (!(await emptyMemory(folder))) return false;
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return true;
    if (isErrno(error, 'EBUSY', 'EACCES', 'EPERM', 'ENOTEMPTY')) return false;
    throw error;
  }
}
