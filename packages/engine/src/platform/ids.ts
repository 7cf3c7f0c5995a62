import { randomBytes } from 'node:crypto';

import type { Clock } from '@caisson/ground';
import { createId, type RunId } from '@caisson/protocol';

const RANDOM_BYTES = 10;

/** A new run's id. Ids sort by creation time; within a millisecond only randomness separates them. */
export function createRunId(clock: Pick<Clock, 'wallMs'>): RunId {
  return createPrefixedId('run', clock);
}

/** The same kind of id for something else: `question`, `approval`, `host`. */
export function createPrefixedId<P extends string>(
  prefix: P,
  clock: Pick<Clock, 'wallMs'>,
): `${P}_${string}` {
  return createId(prefix, clock.wallMs(), randomBytes(RANDOM_BYTES));
}
