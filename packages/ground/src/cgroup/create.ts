import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Cgroup, CgroupProbe, CgroupRequest } from './contract.ts';
import { createV1 } from './create-v1.ts';
import { createV2 } from './create-v2.ts';
import { readHierarchies, type Hierarchies } from './hierarchies.ts';

/**
 * Makes a group with these limits, in the form this kernel offers. Never throws for missing rights: then the kind is
 * `none`, or a limit is not `enforced`, and `why` says so. The caller decides whether that is acceptable.
 */
export function createCgroup(request: CgroupRequest): Cgroup {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}$/.test(request.name))
    throw new TypeError(`Not a name for a cgroup: ${request.name}`);
  const hierarchies = readHierarchies();
  if (hasV1Controllers(hierarchies)) return createV1(request, hierarchies);
  if (hierarchies.v2 === null) return noGroup('no cgroup file system is mounted');
  const made = createV2(request, hierarchies.v2);
  return 'kind' in made ? made : noGroup(made.why);
}

/** The limits that this machine can enforce for us, tested with a real group that is removed again. */
export async function probeCgroups(): Promise<CgroupProbe> {
  const group = createCgroup({
    name: `probe.${process.pid}`,
    limits: { memory: 64 * 2 ** 20, cpus: 1, pids: 16 },
  });
  const swap = group.procsFiles.some(
    (path) =>
      existsSync(join(path, '../memory.memsw.limit_in_bytes')) ||
      existsSync(join(path, '../memory.swap.max')),
  );
  await group.remove();
  const hierarchies = readHierarchies();
  const mounted = hasV1Controllers(hierarchies) ? 'v1' : hierarchies.v2 === null ? 'none' : 'v2';
  return { kind: group.kind, mounted, ...group.enforced, swap, why: group.why };
}

/** On a hybrid machine v2 is mounted too, without the controllers. */
function hasV1Controllers({ v1 }: Hierarchies): boolean {
  return v1.memory !== undefined || v1.pids !== undefined || v1.cpu !== undefined;
}

function noGroup(why: string): Cgroup {
  return {
    kind: 'none',
    procsFiles: [],
    enforced: { memory: false, cpus: false, pids: false },
    why,
    events: () => ({ oomKills: 0, pidsMax: 0 }),
    kill: async () => {},
    pids: () => [],
    remove: async () => {},
  };
}
