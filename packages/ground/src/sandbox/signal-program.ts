/** How a signal reaches the program inside. */
import { isErrno, unlessErrno } from '../platform/index.ts';
import { descendants, isSameProcess, readProcess } from '../processes/index.ts';

/** A shell that has just been interrupted has started its next command by then. */
const LATE_COMMAND_MS = 100;

/**
 * `false` when the program does not exist. SIGINT reaches what a terminal's Ctrl-C would: the program and those below
 * it in its process group. A shell that waits for a command obeys an interrupt only if the command does; one that was
 * about to start a command forgets the interrupt (dash), so a command that appears right afterwards gets it, too.
 */
export function interruptProgram(pid: number): boolean {
  const program = readProcess(pid);
  if (!sendSignal(pid, 'SIGINT')) return false;
  const reached = new Set<number>();
  const reachGroup = (): void => {
    for (const below of descendants(pid)) {
      if (below.group !== program?.group || reached.has(below.pid)) continue;
      reached.add(below.pid);
      sendIfAllowed(below.pid, 'SIGINT');
    }
  };
  reachGroup();
  setTimeout(() => {
    if (program !== null && isSameProcess(pid, program.startTime)) reachGroup();
  }, LATE_COMMAND_MS);
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
