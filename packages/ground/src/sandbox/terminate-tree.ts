/**
 * SIGTERM for everything that a launch has started, and the wait for what it does about it.
 *
 * T1  Everyone gets it, in whatever process group or session it is. All are held still first: nobody forks unseen
 *     between look and signal, and no shell goes on to its next command because the one before it was ended.
 * T2  Programs of ours inside get none: what is said until the end still has to be carried, and a gate that was ended
 *     would be taken for one that lets a call pass.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { descendants, readProcFile, type ProcessInfo } from '../processes/index.ts';
import { sendIfAllowed } from './signal-program.ts';

const POLL_MS = 20;
const EMPTY_LOOKS = 3;
/** A pass that finds nobody new ends it; what forks faster than it is stopped meets its limit of processes first. */
const MAX_PASSES = 100;

/** Finds the processes of a launch that are meant, as they are now. */
export type ListProcesses = () => ProcessInfo[];

export function terminateAll(list: ListProcesses): void {
  const held = new Map<number, ProcessInfo>();
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const fresh = list().filter(({ pid }) => !held.has(pid));
    if (fresh.length === 0) break;
    for (const info of fresh) {
      held.set(info.pid, info);
      sendIfAllowed(info.pid, 'SIGSTOP'); // T1
    }
  }
  for (const signal of ['SIGTERM', 'SIGCONT'] as const)
    for (const { pid } of held.values()) sendIfAllowed(pid, signal);
}

/**
 * Resolves when nobody is left, or when `isOver` says that nobody waits for it any more. One look that finds nobody is no
 * proof: a process whose parent ends just then gets another one, and can be missed by who reads the tree meanwhile.
 */
export async function untilGone(list: ListProcesses, isOver: () => boolean): Promise<void> {
  for (let empty = 0; !isOver() && empty < EMPTY_LOOKS;) {
    empty = list().length === 0 ? empty + 1 : 0;
    if (empty < EMPTY_LOOKS) await delay(POLL_MS);
  }
}

/** Everything that lives below a process. */
export function listBelow(pid: number): ProcessInfo[] {
  return descendants(pid).filter(({ state }) => state !== 'Z' && state !== 'X');
}

/** T2. A word of its command line is the program's file. Whoever pretends that is spared a warning before its end. */
export function isOwnProgram({ pid }: ProcessInfo, programs: readonly string[]): boolean {
  if (programs.length === 0) return false;
  const words = (readProcFile(`/proc/${pid}/cmdline`) ?? '').split('\0');
  return programs.some((program) => words.includes(program));
}
