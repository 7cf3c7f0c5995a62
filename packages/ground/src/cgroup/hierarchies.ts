// Where the kernel's control groups are mounted, and our place in them.
import { readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Controller } from './contract.ts';

export interface Hierarchies {
  /** v1: one mount for each controller. */
  readonly v1: Readonly<Partial<Record<Controller, V1Hierarchy>>>;
  readonly v2: { readonly mount: string; readonly ownGroup: string } | null;
}

export interface V1Hierarchy {
  readonly mount: string;
  /** The group that this process is in, as a folder. */
  readonly ownGroup: string;
}

const CONTROLLERS: readonly Controller[] = ['memory', 'cpu', 'pids', 'freezer'];

/** Reads the machine's layout: pure v1, pure v2, or both (hybrid, where v1 has the controllers). */
export function readHierarchies(): Hierarchies {
  const own = readOwnGroups();
  const v1: Partial<Record<Controller, V1Hierarchy>> = {};
  let v2: Hierarchies['v2'] = null;
  for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
    const [, mount = '', type, options = ''] = line.split(' ');
    if ((type !== 'cgroup' && type !== 'cgroup2') || !isUncovered(mount)) continue;
    if (type === 'cgroup2') v2 = { mount, ownGroup: join(mount, own.get('') ?? '/') };
    if (type !== 'cgroup') continue;
    const words = options.split(',');
    for (const controller of CONTROLLERS) {
      if (words.includes(controller))
        v1[controller] = { mount, ownGroup: join(mount, own.get(controller) ?? '/') };
    }
  }
  return { v1, v2 };
}

const CGROUP_MAGIC = 0x27_e0_eb;
const CGROUP2_MAGIC = 0x63_67_72_70;

/** Something else may be mounted over it, and there a group would be a plain folder without limits. */
function isUncovered(mount: string): boolean {
  try {
    const { type } = statfsSync(mount);
    return type === CGROUP_MAGIC || type === CGROUP2_MAGIC;
  } catch {
    return false; // gone, or not readable: then it cannot be used either
  }
}

/** From controller to path; the v2 group has the empty name. */
function readOwnGroups(): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of readFileSync('/proc/self/cgroup', 'utf8').split('\n')) {
    const [, controllers = '', path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    for (const controller of controllers.split(',')) groups.set(controller, path);
  }
  return groups;
}
