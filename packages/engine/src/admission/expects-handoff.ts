import type { DispatchRequest } from '@caisson/protocol';

/** Whether a task ends in a hand-off in any case: it has its own branch, or belongs to a pool. */
export function expectsHandoff({ branch, pool }: Pick<DispatchRequest, 'branch' | 'pool'>): boolean {
  return branch !== undefined || pool !== undefined;
}
