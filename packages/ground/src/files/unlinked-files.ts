/**
 * Files that use space on the disk and that no folder shows.
 *
 * U1  A removed file that a process holds open is measured.
 * U2  What cannot be measured is found by its signs: a removed file that is only mapped, descriptors that wait in a
 *     socket, a thread with its own descriptors, a process that cannot be inspected.
 */
import { readdirSync, readFileSync, statSync, type Stats } from 'node:fs';
import { descendants } from '../processes/index.ts';

/** Bytes on the disk of `path` in nameless files that the process or a descendant of it holds open (U1). */
export function measureUnlinked(pid: number, path: string): number {
  const disk = look(path)?.dev;
  const found = new Map<number, number>();
  for (const holder of family(pid)) {
    for (const fd of list(`/proc/${holder}/fd`) ?? [])
      noteUnlinked(look(`/proc/${holder}/fd/${fd}`), disk, found);
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

function noteUnlinked(stats: Stats | null, disk: number | undefined, found: Map<number, number>): void {
  if (stats === null || stats.dev !== disk || stats.nlink > 0 || !stats.isFile()) return;
  found.set(stats.ino, stats.blocks * 512);
}

/** More descriptors than we read could hide anything. */
const MAX_LOOKED_AT = 50_000;

/**
 * How the process or a descendant could keep bytes on the disk of `path` that `measureUnlinked` does not see, in words;
 * `null` if nothing hints at it (U2). `others` are outside processes that have sockets to it.
 */
export function findHiding(pid: number, path: string, others: readonly number[] = []): string | null {
  const disk = look(path)?.dev;
  const seen = new Map<number, number>();
  const holders = family(pid);
  const budget = { left: MAX_LOOKED_AT };
  for (const holder of holders) {
    const fds = list(`/proc/${holder}/fd`);
    if (fds === null && look(`/proc/${holder}`) !== null) return 'a process that cannot be inspected';
    budget.left -= fds?.length ?? 0;
    if (budget.left < 0) return 'more open files than can be inspected';
    for (const fd of fds ?? []) noteUnlinked(look(`/proc/${holder}/fd/${fd}`), disk, seen);
  }
  for (const holder of [...holders, ...others])
    if (hasWaitingDescriptors(holder)) return 'descriptors that wait in a socket';
  for (const holder of holders) {
    if (hasMappedRemoved(holder, seen)) return 'a removed file that is mapped';
    const own = findInThreads(holder, disk, seen, budget);
    if (own !== null) return own;
  }
  return null;
}

/** The kernel counts, for each socket, the descriptors in its queue; of one that listens, also those not accepted yet. */
function hasWaitingDescriptors(pid: number): boolean {
  return (list(`/proc/${pid}/fdinfo`) ?? []).some((fd) =>
    /^scm_fds:\s*[1-9]/m.test(read(`/proc/${pid}/fdinfo/${fd}`) ?? ''),
  );
}

/** Mappings of memory carry that mark, too, under other names. */
const REMOVED = /^\S+ \S+ \S+ \S+ (\d+)\s+(?!\/memfd:|\/dev\/zero|\/SYSV|\/dev\/shm\/)\/.*\(deleted\)$/gm;

function hasMappedRemoved(pid: number, seen: ReadonlyMap<number, number>): boolean {
  const maps = read(`/proc/${pid}/maps`) ?? '';
  return [...maps.matchAll(REMOVED)].some(([, inode]) => !seen.has(Number(inode)));
}

/** Threads share their descriptors, unless one was made not to; a dead first thread shows none at all. */
function findInThreads(
  pid: number,
  disk: number | undefined,
  seen: ReadonlyMap<number, number>,
  budget: { left: number },
): string | null {
  for (const thread of list(`/proc/${pid}/task`) ?? []) {
    if (thread === String(pid)) continue;
    const fds = list(`/proc/${pid}/task/${thread}/fd`) ?? [];
    budget.left -= fds.length;
    if (budget.left < 0) return 'more open files than can be inspected';
    const found = new Map<number, number>();
    for (const fd of fds) noteUnlinked(look(`/proc/${pid}/task/${thread}/fd/${fd}`), disk, found);
    if ([...found.keys()].some((inode) => !seen.has(inode))) return 'a thread with its own open files';
  }
  return null;
}

function family(pid: number): number[] {
  return [pid, ...descendants(pid).map((info) => info.pid)];
}

/** `null` for what is gone or may not be listed. */
function list(folder: string): string[] | null {
  return unlessGone(() => readdirSync(folder));
}

function look(path: string): Stats | null {
  return unlessGone(() => statSync(path));
}

function read(path: string): string | null {
  return unlessGone(() => readFileSync(path, 'latin1'));
}

/** The processes continue while we read, and some cannot be inspected. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENOTDIR', 'EIO', 'EINVAL', 'ENXIO'].includes(code))
      return null;
    throw error;
  }
}
