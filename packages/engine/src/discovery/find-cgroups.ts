import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which cgroup version carries the controllers here, and which of them this process may make groups in. */
export interface CgroupFinding {
  readonly version: 1 | 2 | null;
  readonly writable: readonly string[];
}

const CONTROLLERS = ['memory', 'pids', 'cpu'];

/** Reads mounts and memberships only; makes nothing. A hybrid host, with controllers on v1, counts as v1. */
export function findCgroups(): CgroupFinding {
  const mounts = readLines('/proc/self/mounts').map((line) => line.split(' '));
  const memberships = readLines('/proc/self/cgroup').map((line) => line.split(':'));
  const legacy = CONTROLLERS.flatMap((name) => {
    const mount = mounts.find(
      ([, , type, options]) => type === 'cgroup' && options?.split(',').includes(name),
    );
    const own = memberships.find(([, names]) => names?.split(',').includes(name))?.[2];
    return mount?.[1] === undefined ? [] : [{ name, folder: ownFolder(mount[1], own) }];
  });
  if (legacy.length > 0) {
    return {
      version: 1,
      writable: legacy.filter(({ folder }) => isWritable(folder)).map(({ name }) => name),
    };
  }
  const unified = mounts.find(([, , type]) => type === 'cgroup2')?.[1];
  if (unified === undefined) return { version: null, writable: [] };
  const own = memberships.find(([id]) => id === '0')?.[2];
  const folder = ownFolder(unified, own);
  const offered = readLines(join(folder, 'cgroup.controllers')).join(' ').split(' ');
  return {
    version: 2,
    writable: isWritable(folder) ? CONTROLLERS.filter((name) => offered.includes(name)) : [],
  };
}

/** In a container the membership may name a path that is outside the mount; then the mount itself is ours. */
function ownFolder(mount: string, own: string | undefined): string {
  const folder = join(mount, own ?? '/');
  return existsSync(folder) ? folder : mount;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false; // read-only mount or another owner: no group can be made here
  }
}

function readLines(path: string): string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
}
