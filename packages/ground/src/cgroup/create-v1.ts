// cgroup v1, also on hybrid machines: one folder in each controller's own hierarchy.
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isErrno } from '../platform/index.ts';
import type { Cgroup, CgroupRequest, Controller } from './contract.ts';
import { killMembers, listMembers, readCount, readLimit, removeGroup, tryWrite } from './group-files.ts';
import type { Hierarchies, V1Hierarchy } from './hierarchies.ts';

const CPU_PERIOD_US = 100_000;

/** Makes one folder for each controller that has something to do. */
export function createV1(request: CgroupRequest, hierarchies: Hierarchies): Cgroup {
  const { limits } = request;
  const folders = new Map<Controller, string>();
  const refusals: string[] = [];
  const denied: Denied[] = [];
  const open = (controller: Controller): string | null => {
    const made = makeFolder(controller, request, hierarchies.v1[controller]);
    if (made.kind === 'made') folders.set(controller, made.folder);
    else if (made.kind === 'denied') denied.push(made);
    else refusals.push(made.why);
    return made.kind === 'made' ? made.folder : null;
  };
  const apply = (
    controller: Controller,
    limit: number | undefined,
    write: (folder: string, limit: number) => string | null,
  ): boolean => {
    if (limit === undefined) return false;
    const folder = open(controller);
    if (folder === null) return false;
    const refusal = write(folder, limit);
    if (refusal !== null) refusals.push(refusal);
    return refusal === null;
  };
  open('freezer');
  const enforced = {
    memory: apply('memory', smallest(limits.memory, outerMemory(hierarchies.v1.memory)), limitMemory),
    pids: apply('pids', smallest(limits.pids, outerPids(hierarchies.v1.pids)), (folder, limit) =>
      tryWrite(join(folder, 'pids.max'), limit),
    ),
    cpus: apply('cpu', limits.cpus, limitCpus),
  };
  const all = [...folders.values()];
  refusals.unshift(...describeDenied(denied));
  return {
    kind: all.length === 0 ? 'none' : 'v1',
    procsFiles: all.map((folder) => join(folder, 'cgroup.procs')),
    enforced,
    why: refusals.length === 0 ? undefined : refusals.join('; '),
    events: () => ({
      oomKills: readCount(join(folders.get('memory') ?? '', 'memory.oom_control'), 'oom_kill'),
      pidsMax: readCount(join(folders.get('pids') ?? '', 'pids.events'), 'max'),
    }),
    kill: () => killMembers(all),
    pids: () => [...new Set(all.flatMap(listMembers))],
    remove: async () => {
      await killMembers(all);
      await Promise.all(all.map(removeGroup));
    },
  };
}

interface Denied {
  readonly kind: 'denied';
  readonly controller: Controller;
  readonly parent: string;
  readonly code: string;
}
type MadeFolder = { kind: 'made'; folder: string } | { kind: 'refused'; why: string } | Denied;

function makeFolder(
  controller: Controller,
  request: CgroupRequest,
  hierarchy: V1Hierarchy | undefined,
): MadeFolder {
  if (hierarchy === undefined)
    return { kind: 'refused', why: `this kernel offers no ${controller} controller` };
  const parent = join(hierarchy.mount, request.parentHint ?? 'caisson');
  const folder = join(parent, request.name);
  try {
    mkdirSync(folder, { recursive: true });
    return { kind: 'made', folder };
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'ENOENT')) throw error;
    return { kind: 'denied', controller, parent, code: (error as NodeJS.ErrnoException).code ?? 'unknown' };
  }
}

/** Missing rights are reported once, not once for each controller. */
function describeDenied(denied: readonly Denied[]): string[] {
  return [...new Set(denied.map(({ code }) => code))].map((code) => {
    const [first, ...others] = denied.filter((one) => one.code === code);
    const more =
      others.length === 0 ? '' : `, nor for ${others.map(({ controller }) => controller).join(', ')}`;
    return `no group can be made in ${first?.parent ?? ''}${more} (${code})`;
  });
}

/** Swap is limited together with memory if the kernel counts it; else this group may not swap at all. */
function limitMemory(folder: string, limit: number): string | null {
  const refusal = tryWrite(join(folder, 'memory.limit_in_bytes'), limit);
  if (refusal !== null) return refusal;
  const swap = join(folder, 'memory.memsw.limit_in_bytes');
  if (existsSync(swap)) return tryWrite(swap, limit);
  tryWrite(join(folder, 'memory.swappiness'), 0);
  return null;
}

function limitCpus(folder: string, cpus: number): string | null {
  return (
    tryWrite(join(folder, 'cpu.cfs_period_us'), CPU_PERIOD_US) ??
    tryWrite(join(folder, 'cpu.cfs_quota_us'), Math.max(1000, Math.round(cpus * CPU_PERIOD_US)))
  );
}

/** C3: the most that our own group may use, counting all groups around it. */
function outerMemory(hierarchy: V1Hierarchy | undefined): number | undefined {
  if (hierarchy === undefined) return undefined;
  const limit = readCount(join(hierarchy.ownGroup, 'memory.stat'), 'hierarchical_memory_limit');
  return limit > 0 && limit < Number.MAX_SAFE_INTEGER ? limit : undefined;
}

function outerPids(hierarchy: V1Hierarchy | undefined): number | undefined {
  if (hierarchy === undefined) return undefined;
  let found: number | undefined;
  for (let folder = hierarchy.ownGroup; folder.length > hierarchy.mount.length; folder = dirname(folder)) {
    found = smallest(found, readLimit(join(folder, 'pids.max')) ?? undefined);
  }
  return found;
}

function smallest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
