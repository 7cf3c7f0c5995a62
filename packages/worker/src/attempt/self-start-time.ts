import { readProcess } from '@caisson/ground';

/** When this process was started, in the kernel's own ticks: with the pid it identifies the process for ever. */
export function selfStartTime(): string {
  return readProcess(process.pid)?.startTime ?? '0';
}
