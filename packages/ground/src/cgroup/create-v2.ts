// cgroup v2: one folder, beside the group we were started in.
//
// A group with processes cannot delegate controllers to groups below it, so ours is made below the nearest group around
// us that already delegates them and lets us write: with systemd that is a slice delegated to the user, or the root.
// Groups that are not ours are never changed (C1); below their parent, outer limits still apply (C3).
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isErrno } from '../platform/index.ts';
import type { Cgroup, CgroupRequest } from './contract.ts';
import { killMembers, listMembers, readCount, readGroupFile, removeGroup, tryWrite } from './group-files.ts';

const CPU_PERIOD_US = 100_000;

/** Makes the group, or explains why there is none. */
export function createV2(
  request: CgroupRequest,
  v2: { mount: string; ownGroup: string },
): Cgroup | { why: string } {
  const parent = findV2Parent(v2);
  if (parent === null)
    return { why: `no group around ${v2.ownGroup} can be written and delegates memory, cpu or pids` };
  const ours = join(parent, request.parentHint ?? 'caisson');
  const folder = join(ours, request.name);
  try {
    mkdirSync(ours, { recursive: true });
    for (const controller of handedOn(parent))
      tryWrite(join(ours, 'cgroup.subtree_control'), `+${controller}`);
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM', 'EROFS', 'ENOSPC')) throw error;
    return { why: `no group can be made in ${parent}: ${(error as Error).message}` };
  }
  return openV2Group(folder, request);
}

/** Sets the limits of a group that exists and gives it its handle. */
export function openV2Group(folder: string, { limits }: CgroupRequest): Cgroup {
  const refusals: string[] = [];
  const apply = (file: string, value: string | number | undefined): boolean => {
    if (value === undefined) return false;
    const refusal = tryWrite(join(folder, file), value);
    if (refusal !== null) refusals.push(refusal);
    return refusal === null;
  };
  const enforced = {
    memory: apply('memory.max', limits.memory),
    pids: apply('pids.max', limits.pids),
    cpus: apply(
      'cpu.max',
      limits.cpus === undefined
        ? undefined
        : `${Math.max(1000, Math.round(limits.cpus * CPU_PERIOD_US))} ${CPU_PERIOD_US}`,
    ),
  };
  // Memory and swap are two limits here: without swap the memory limit is exact.
  if (enforced.memory && existsSync(join(folder, 'memory.swap.max')))
    tryWrite(join(folder, 'memory.swap.max'), 0);
  return {
    kind: 'v2',
    procsFiles: [join(folder, 'cgroup.procs')],
    enforced,
    why: refusals.length === 0 ? undefined : refusals.join('; '),
    events: () => ({
      oomKills: readCount(join(folder, 'memory.events'), 'oom_kill'),
      pidsMax: readCount(join(folder, 'pids.events'), 'max'),
    }),
    kill: () => killMembers([folder]),
    pids: () => listMembers(folder),
    remove: async () => {
      await killMembers([folder]);
      await removeGroup(folder);
    },
  };
}

/** Moving a process needs the right to write the nearest group above both its old and its new place. */
export function findV2Parent(v2: { mount: string; ownGroup: string }): string | null {
  for (let folder = v2.ownGroup; folder.length > v2.mount.length;) {
    folder = dirname(folder);
    if (isWritable(join(folder, 'cgroup.procs')) && handedOn(folder).length > 0) return folder;
  }
  return v2.ownGroup === `${v2.mount}/` &&
    isWritable(join(v2.mount, 'cgroup.procs')) &&
    handedOn(v2.mount).length > 0
    ? v2.mount
    : null;
}

function handedOn(folder: string): string[] {
  const words = readGroupFile(join(folder, 'cgroup.subtree_control'))?.trim().split(' ') ?? [];
  return words.filter((word) => word === 'memory' || word === 'pids' || word === 'cpu');
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch (error) {
    if (isErrno(error, 'EACCES', 'ENOENT', 'EROFS', 'EPERM')) return false;
    throw error;
  }
}
