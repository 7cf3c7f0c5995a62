// A group known only by its name: left by a host that died before it could record anything.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findV2Parent } from './create-v2.ts';
import { readHierarchies } from './hierarchies.ts';
import { reopenCgroup, type ReopenedCgroup } from './reopen.ts';

/** Opens the group of this name wherever one of ours could be; creates nothing. */
export function findCgroup(name: string, parentHint = 'caisson'): ReopenedCgroup {
  const { v1, v2 } = readHierarchies();
  const parents = [...Object.values(v1).map(({ mount }) => mount), v2 === null ? null : findV2Parent(v2)];
  const folders = parents
    .filter((parent) => parent !== null)
    .map((parent) => join(parent, parentHint, name))
    .filter((folder) => existsSync(folder));
  return reopenCgroup([...new Set(folders)].map((folder) => join(folder, 'cgroup.procs')));
}
