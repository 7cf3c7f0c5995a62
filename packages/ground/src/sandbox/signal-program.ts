/** How a signal reaches the program inside. */
import { descendants, readProcess, sendIfAllowed, sendSignal, type ProcessInfo } from '../processes/index.ts';

/** A shell that was interrupted while it started a command has started it by then. */
const LATE_COMMAND_MS = 100;

/**
 * `false` when the program does not exist. SIGINT reaches what a terminal's Ctrl-C would: the program and those below
 * it in its process group. A shell that waits for a command obeys an interrupt only if the command does; one that is
 * starting a command forgets the interrupt (dash, before and after its fork). So what is another process or another
 * program right afterwards gets it again.
 */
export function interruptProgram(pid: number): boolean {
  const program = readProcess(pid);
  if (!sendSignal(pid, 'SIGINT')) return false;
  if (program === null) return true;
  const reached = new Set([nameOf(program)]);
  const reachGroup = (): void => {
    const own = readProcess(pid);
    if (own?.startTime !== program.startTime) return;
    for (const each of [own, ...descendants(pid)]) {
      if (each.group !== program.group || reached.has(nameOf(each))) continue;
      reached.add(nameOf(each));
      sendIfAllowed(each.pid, 'SIGINT');
    }
  };
  reachGroup();
  setTimeout(reachGroup, LATE_COMMAND_MS);
  return true;
}

function nameOf({ pid, comm }: ProcessInfo): string {
  return `${pid} ${comm}`;
}
