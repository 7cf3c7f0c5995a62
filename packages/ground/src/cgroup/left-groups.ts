// Groups that were never removed: their host was killed, and with it the project that knew them.
import { readdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isErrno } from '../platform/index.ts';
import { findV2Parent } from './create-v2.ts';
import { emptyMemory, listMembers, listSubgroups } from './group-files.ts';
import { readHierarchies } from './hierarchies.ts';

export interface LeftGroup {
  readonly name: string;
  readonly ageMs: number;
  /** Removes it if it is empty; never kills a process. */
  remove(): Promise<boolean>;
}

/** Our empty groups. A run between two of its commands has such a group, too. */
export function listEmptyCgroups(parentHint = 'caisson'): LeftGroup[] {
  const { v1, v2 } = readHierarchies();
  const parents = [...Object.values(v1).map(({ mount }) => mount), v2 === null ? null : findV2Parent(v2)];
  const folders = [...new Set(parents.filter((parent) => parent !== null))].map((parent) =>
    join(parent, parentHint),
  );
  const names = new Set(folders.flatMap(listNames));
  return [...names].flatMap((name) => {
    const own = folders.map((folder) => join(folder, name));
    if (own.some((folder) => listMembers(folder).length > 0)) return [];
    const changedAtMs = Math.max(
      ...own.map((folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0),
    );
    return [
      {
        name,
        ageMs: Date.now() - changedAtMs,
        remove: async () => (await Promise.all(own.map(removeEmpty))).every((isGone) => isGone),
      },
    ];
  });
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
