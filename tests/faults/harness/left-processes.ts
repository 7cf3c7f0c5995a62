/**
 * Processes that still run for a case: found by the case's folder and by its runs, in every place of a process that can
 * show it.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Stage } from './contract.ts';

export interface LeftProcess {
  readonly pid: number;
  readonly command: string;
}

/** Every other process whose command line, environment or folder names this case. */
export function findLeftProcesses({ marks }: Pick<Stage, 'marks'>): LeftProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => isMarked(name, [...marks]))
    .map((name) => ({ pid: Number(name), command: readProc(name, 'cmdline').replaceAll('\0', ' ').trim() }))
    .filter(({ pid }) => !isZombie(pid) && !isOurs(pid));
}

function isMarked(pid: string, marks: readonly string[]): boolean {
  const reported = [readProc(pid, 'cmdline'), readProc(pid, 'environ'), cwdOf(pid)].join('\0');
  return marks.some((mark) => reported.includes(mark));
}

export function isRunning(pid: number): boolean {
  return readProc(String(pid), 'stat') !== '' && !isZombie(pid);
}

/** One that has ended and only waits to be noticed by its parent. */
function isZombie(pid: number): boolean {
  return /\) [ZX] /.test(readProc(String(pid), 'stat'));
}

/** Ours: the disk of the case, or what injects its faults. */
function isOurs(pid: number): boolean {
  return ['bindfs', 'strace'].includes(readProc(String(pid), 'comm').trim());
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // it ended while we looked
  }
}

function cwdOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}
