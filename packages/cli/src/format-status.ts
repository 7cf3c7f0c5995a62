import type { ListedRun } from '@caisson/engine';

/** Who waits in the queue for how many others, and with which priority. Out of the queue, its files are prepared. */
export function formatStatus({ status, position, priority, appliedAt, forgottenAt }: ListedRun): string {
  const word = status === 'error' ? 'failed' : status;
  if (appliedAt !== undefined) return `${word}, applied`;
  if (forgottenAt !== undefined) return `${word}, forgotten`;
  if (status !== 'queued') return word;
  return position === undefined ? 'preparing' : `${status}, number ${position}, priority ${priority}`;
}
