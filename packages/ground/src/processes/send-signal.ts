import { isErrno, unlessErrno } from '../platform/index.ts';

/** `false` when there is no such process; a negative one is a group. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  return unlessErrno(() => process.kill(pid, signal), false, 'ESRCH');
}

/** Processes of another user (sudo, without a sandbox) are skipped, as the kernel does for a group. */
export function sendIfAllowed(pid: number, signal: NodeJS.Signals): void {
  try {
    sendSignal(pid, signal);
  } catch (error) {
    if (!isErrno(error, 'EPERM')) throw error;
  }
}
