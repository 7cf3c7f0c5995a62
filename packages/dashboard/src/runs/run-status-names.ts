import type { RunStatus } from '@caisson/protocol';

/** A record, so that the compiler names a status that is missing here. */
const ALL: Readonly<Record<RunStatus, true>> = {
  ...{ queued: true, running: true, waiting: true, answered: true, done: true },
  ...{ error: true, timeout: true, budget_exceeded: true, cancelled: true, interrupted: true },
};

export const RUN_STATUS_NAMES = Object.keys(ALL) as readonly RunStatus[];

export function isUnderWay(status: RunStatus): boolean {
  return status === 'queued' || status === 'running';
}
