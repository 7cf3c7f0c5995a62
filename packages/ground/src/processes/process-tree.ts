// The kernel's facts about processes. A pid alone is ambiguous, because pids are reused: everywhere in Caisson a
// process is a pid together with its start time.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A process as `/proc` describes it at one moment. */
export interface ProcessInfo {
  readonly pid: number;
  readonly ppid: number;
  /** Its process group. */
  readonly group: number;
  /** Clock ticks since boot, as text: with the pid it identifies one process for ever. */
  readonly startTime: string;
  /** One letter of the kernel: R, S, D, Z, T … */
  readonly state: string;
  readonly comm: string;
  /** CPU time used so far by the process itself, user and system. */
  readonly cpuMs: number;
  /** CPU time of the children it has waited for, and of theirs. */
  readonly endedChildrenCpuMs: number;
}

/** The kernel reports CPU time in ticks of 10 ms on every Linux architecture we support. */
const MS_PER_TICK = 10;

/** The process with this pid, or `null` when there is none (a zombie is still one). */
export function readProcess(pid: number): ProcessInfo | null {
  const stat = readProcFile(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name may hold spaces and brackets: it ends at the last one.
  const nameEnd = stat.lastIndexOf(')');
  const fields = stat.slice(nameEnd + 2).split(' ');
  const field = (number: number): string => fields[number - 3] ?? '0';
  return {
    pid,
    ppid: Number(field(4)),
    group: Number(field(5)),
    startTime: field(22),
    state: field(3),
    comm: stat.slice(stat.indexOf('(') + 1, nameEnd),
    cpuMs: (Number(field(14)) + Number(field(15))) * MS_PER_TICK,
    endedChildrenCpuMs: (Number(field(16)) + Number(field(17))) * MS_PER_TICK,
  };
}

/** Whether this very process is still running. A zombie is dead: it runs no code and holds no file. */
export function isSameProcess(pid: number, startTime: string): boolean {
  const info = readProcess(pid);
  return info !== null && info.startTime === startTime && info.state !== 'Z' && info.state !== 'X';
}

/** Whether a signal stopped it. One that a debugger holds (`t`) goes on by itself. */
export function isStopped(pid: number): boolean {
  return readProcess(pid)?.state === 'T';
}

/** Every living descendant, parents before children. Processes that left the tree by a double fork are not in it. */
export function descendants(pid: number): ProcessInfo[] {
  const found: ProcessInfo[] = [];
  const queue = [pid];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const childPid of childPids(next)) {
      const info = readProcess(childPid);
      if (info === null) continue;
      found.push(info);
      queue.push(childPid);
    }
  }
  return found;
}

/** The process and all its descendants, by one look; empty when it is gone. */
export function readTree(pid: number): ProcessInfo[] {
  const own = readProcess(pid);
  return own === null ? [] : [own, ...descendants(pid)];
}

/**
 * CPU time of the processes of a tree, also of those that ended: a parent that waits for a child takes over its time. Only
 * the time of children without a wait is missing.
 */
export function treeCpuMs(tree: readonly ProcessInfo[]): number {
  return tree.reduce((sum, info) => sum + info.cpuMs + info.endedChildrenCpuMs, 0);
}

/** Resident memory of the processes of a tree; a page that they share is counted in each. */
export function treeMemoryBytes(tree: readonly ProcessInfo[]): number {
  return tree.reduce((sum, { pid }) => sum + residentBytes(pid), 0);
}

function residentBytes(pid: number): number {
  const status = readProcFile(`/proc/${pid}/status`) ?? '';
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Children of all threads, oldest first. */
export function childPids(pid: number): number[] {
  const pids: number[] = [];
  for (const task of listFolder(`/proc/${pid}/task`)) {
    const text = readProcFile(`/proc/${pid}/task/${task}/children`);
    if (text === null) continue;
    for (const word of text.split(' ')) if (word !== '') pids.push(Number(word));
  }
  return pids;
}

/** Every pid that `/proc` lists. */
export function listPids(): number[] {
  return listFolder('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0);
}

/** Processes whose initial environment has exactly `name=value`. The reader itself is never among them. */
export function findByMarker(name: string, value: string): ProcessInfo[] {
  const marker = `${name}=${value}`;
  const found: ProcessInfo[] = [];
  for (const pid of listPids()) {
    if (pid === process.pid) continue;
    const environ = readProcFile(`/proc/${pid}/environ`);
    if (environ === null || !environ.split('\0').includes(marker)) continue;
    const info = readProcess(pid);
    if (info !== null && info.state !== 'Z' && info.state !== 'X') found.push(info);
  }
  return found;
}

/** A small file of `/proc`, or `null` when the process is gone or may not be read. */
export function readProcFile(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (isGoneOrForbidden(error)) return null;
    throw error;
  }
}

/** Where a link of `/proc` points, or `null` when the process is gone or may not be read. */
export function readProcLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (isGoneOrForbidden(error)) return null;
    throw error;
  }
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (isGoneOrForbidden(error)) return [];
    throw error;
  }
}

const GONE_OR_FORBIDDEN = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENOTDIR', 'EINVAL', 'EIO']);

function isGoneOrForbidden(error: unknown): boolean {
  return GONE_OR_FORBIDDEN.has((error as NodeJS.ErrnoException).code ?? '');
}
