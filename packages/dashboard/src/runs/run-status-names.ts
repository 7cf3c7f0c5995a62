import type { RunStatus } from '@caisson/protocol';

/** A record, so that the compiler names a status that is missing here. */
const ALL: Readonly<Record<RunStatus, true>> = {
  ...{ queued: true, running: true, waiting: true, answered: true, done: true },
  ...{ error: true, timeout: true, budget_exceeded: true, cancelled: true, interrupted: true },
};

export const RUN_STATUS_NAMES = Object.keys(ALL) as readonly RunStatus[];

/** Statuses that are chosen, and read in an address, by one word. */
export const STATUS_GROUPS = {
  'under way': ['queued', 'running', 'waiting'],
  failed: ['error', 'timeout', 'budget_exceeded', 'interrupted'],
} as const satisfies Readonly<Record<string, readonly RunStatus[]>>;

export function isUnderWay(status: RunStatus): boolean {
  return status === 'queued' || status === 'running';
}
