import { randomFillSync } from 'node:crypto';
import { createId } from '@caisson/protocol';

const BYTES_PER_ID = 10;
const POOL_BYTES = 4_000;

/** Makes ids for events that came without one. Chance is drawn in bulk: asking the system for each id is what costs. */
export function createEventIds(): () => string {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return () => {
    if (used === POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    used += BYTES_PER_ID;
    return createId('evt', Date.now(), pool.subarray(used - BYTES_PER_ID, used));
  };
}
