/** The processes of a run by role, as the kernel shows them. */
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';

/** The worker of the attempt that this host drives: the one with something below it, if any has. */
export function findWorker(hostPid: number): number {
  const workers = childrenOf(hostPid).filter((pid) => readCommand(pid).includes('worker.mjs'));
  const worker = workers.find((pid) => childrenOf(pid).length > 0) ?? workers[0];
  if (worker === undefined) throw new Error(`host ${hostPid} has no worker`);
  return worker;
}

/** How much slower than alone a process gets on here now: limits in seconds are meant for a machine that has time. */
export function slowness(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}

/** How many processes on this machine execute exactly this. */
export function countCommands(command: string): number {
  return readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && readCommand(Number(name)).trimEnd() === command,
  ).length;
}

export function childrenOf(pid: number): number[] {
  return readIfThere(`/proc/${pid}/task/${pid}/children`)
    .split(' ')
    .filter((word) => word !== '')
    .map(Number);
}

/** Every descendant, parents first. */
export function treeOf(pid: number): number[] {
  const children = childrenOf(pid);
  return [...children, ...children.flatMap(treeOf)];
}

export function readCommand(pid: number): string {
  return readIfThere(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

/** Peak resident memory in MiB, or 0 when the process is gone. */
export function peakMemoryMiB(pid: number): number {
  const found = /^VmHWM:\s*(\d+) kB/m.exec(readIfThere(`/proc/${pid}/status`))?.[1];
  return Number(found ?? 0) / 1024;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // the process ended meanwhile: there is nothing to read
  }
}
