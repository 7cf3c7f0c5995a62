/**
 * SIGTERM for everything that a launch has started, and the wait for their ends.
 *
 * T1  Every process gets it, in every process group and session. All are stopped first: none forks unseen between
 *     search and signal, and no shell continues with its next command because the one before it was ended.
 * T2  Our programs inside get none: the last output still has to be forwarded, and a gate that was ended would look
 *     like one that allows a call.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { descendants, readProcFile, type ProcessInfo, sendIfAllowed } from '../processes/index.ts';

const POLL_MS = 20;
const EMPTY_LOOKS = 3;
/** A pass that finds no new process ends it; a process that forks faster reaches its limit of processes first. */
const MAX_PASSES = 100;

/** Finds the present processes of a launch. */
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
 * Resolves when none is left, or when `isOver` reports that nothing waits any more. One empty search is no proof: a
 * process whose parent ends just then gets another one, and the search can miss it.
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

/**
 * T2. A word of its command line is the program's file. A process that fakes this only misses a warning before its end.
 */
export function isOwnProgram({ pid }: ProcessInfo, programs: readonly string[]): boolean {
  if (programs.length === 0) return false;
  const words = (readProcFile(`/proc/${pid}/cmdline`) ?? '').split('\0');
  return programs.some((program) => words.includes(program));
}
