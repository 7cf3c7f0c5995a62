/** How many runs a project accepts at once, and the pool of each. */
import { DEFAULT_POOL, type PoolLimit } from '../ledger/index.ts';
import type { AdmittedRun, Refusal } from './contract.ts';
import type { DispatchSettings } from './rooms.ts';

/** How many runs there may be beside this one: those with a slot, and those that wait unless it will not wait. */
export function poolLimit(
  candidate: Pick<AdmittedRun, 'request' | 'grant'>,
  { concurrency, queueLimit }: DispatchSettings,
): PoolLimit {
  const waiting = candidate.request.overflow === 'reject' ? 0 : queueLimit;
  return { pool: poolOf(candidate), bound: concurrency + waiting };
}

export function describeFull(
  { request }: Pick<AdmittedRun, 'request'>,
  { concurrency, queueLimit }: DispatchSettings,
): Omit<Refusal, 'check'> {
  if (request.overflow === 'reject')
    return { kind: 'full', detail: `all ${concurrency} slots are taken and overflow is "reject"` };
  return {
    kind: 'full',
    detail: `all ${concurrency} slots are taken and the queue is full: the limit is ${queueLimit}`,
    remedy: 'Wait, or raise limits.queue.',
  };
}

/**
 * A run that waits for another run keeps its slot; if both came from one pool, waiting parents could fill it and wait
 * for ever. Each depth has its own slots, and the deepest never waits.
 */
export function poolOf({ request, grant }: Pick<AdmittedRun, 'request' | 'grant'>): string {
  return request.parent === undefined ? DEFAULT_POOL : `${DEFAULT_POOL}.depth-${grant.depth}`;
}
