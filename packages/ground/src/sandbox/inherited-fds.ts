// Descriptors that our own process inherited without close-on-exec (a terminal's, a parent's log, the control channel)
// would pass into the sandbox. Node opens its own with close-on-exec, so the list never grows.
import { openSync, readdirSync } from 'node:fs';
import { readProcFile } from '../processes/index.ts';

const O_CLOEXEC = 0o2000000;

let highest: number | undefined;

/** The highest descriptor that a child would inherit unasked, or 2 when there is none. */
export function highestInheritedFd(): number {
  highest ??= Math.max(2, ...readdirSync('/proc/self/fd').map(Number).filter(isInherited));
  return highest;
}

function isInherited(fd: number): boolean {
  const flags = /^flags:\s*(\d+)/m.exec(readProcFile(`/proc/self/fdinfo/${fd}`) ?? '')?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
}

let nullFd: number | undefined;

/** Fillers that put `/dev/null` on every number a child would otherwise inherit, after `taken` descriptors. */
export function coverInheritedFds(taken: number): number[] {
  const count = highestInheritedFd() + 1 - taken;
  if (count <= 0) return [];
  // Node's own 'ignore' leaves numbers above 2 as they are.
  nullFd ??= openSync('/dev/null', 'r');
  return Array<number>(count).fill(nullFd);
}
