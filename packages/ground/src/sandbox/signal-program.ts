/** How a signal reaches the program inside. */
import { isErrno, unlessErrno } from '../platform/index.ts';
import { descendants, readProcess } from '../processes/index.ts';

/**
 * `false` when the program does not exist. SIGINT reaches what a terminal's Ctrl-C would: the program and those below
 * it in its process group. A shell that waits for a command obeys an interrupt only if the command does.
 */
export function interruptProgram(pid: number): boolean {
  const group = readProcess(pid)?.group;
  if (!sendSignal(pid, 'SIGINT')) return false;
  for (const below of descendants(pid)) if (below.group === group) sendIfAllowed(below.pid, 'SIGINT');
  return true;
}

/** Processes of another user (sudo, without a sandbox) are skipped, as the kernel does for a group. */
export function sendIfAllowed(pid: number, signal: NodeJS.Signals): void {
  try {
    sendSignal(pid, signal);
  } catch (error) {
    if (!isErrno(error, 'EPERM')) throw error;
  }
}

export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  return unlessErrno(() => process.kill(pid, signal), false, 'ESRCH');
}
