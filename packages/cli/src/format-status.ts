import type { ListedRun } from '@caisson/engine';

/** Who waits in the queue for how many others, and with which priority. Out of the queue, its files are prepared. */
export function formatStatus({ status, position, priority }: ListedRun): string {
  if (status === 'error') return 'failed';
  if (status !== 'queued') return status;
  return position === undefined ? 'preparing' : `${status}, number ${position}, priority ${priority}`;
}
