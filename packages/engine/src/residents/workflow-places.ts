import type { ThreadStatus } from '@caisson/protocol';
import type { Ledger } from '../ledger/index.ts';

/** A started thread has a place until it ends, also while it sleeps; the others wait in the order of their acceptance. */
export interface WorkflowPlaces {
  readonly active: Set<string>;
  readonly queued: Set<string>;
}

export const ACTIVE: readonly ThreadStatus[] = ['running', 'waiting'];
const LIVING: readonly ThreadStatus[] = ['queued', ...ACTIVE];

/** Those that have threads. */
export function listLivingWorkflows(ledger: Ledger): string[] {
  return [...new Set(ledger.threads({ status: LIVING }).map(({ workflow }) => workflow))];
}

export function readPlaces(ledger: Ledger, workflow: string): WorkflowPlaces {
  const ids = (status: readonly ThreadStatus[]): Set<string> =>
    new Set(ledger.threads({ workflow, status }).map(({ threadId }) => threadId));
  return { active: ids(ACTIVE), queued: ids(['queued']) };
}
