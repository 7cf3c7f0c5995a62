import { randomFillSync } from 'node:crypto';
import { createId } from '@caisson/protocol';

const TAIL_CHARACTERS = 16;
const POOL_BYTES = 4_096;
const PREFIX_CHARACTERS = 'evt_'.length + 10;

/**
 * Makes ids for events that came without one: time first, so that the index grows at its end, then 64 random bits.
 * Random bits are drawn and encoded in bulk; one at a time they cost more than hashing the event.
 */
export function createEventIds(): () => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let tails = '';
  let used = 0;
  let prefix = '';
  let prefixMs = -1;
  return () => {
    const nowMs = Date.now();
    if (nowMs !== prefixMs) {
      prefix = createId('evt', nowMs, pool).slice(0, PREFIX_CHARACTERS);
      prefixMs = nowMs;
    }
    if (used === tails.length) {
      tails = randomFillSync(pool).toString('hex');
      used = 0;
    }
    used += TAIL_CHARACTERS;
    return prefix + tails.slice(used - TAIL_CHARACTERS, used);
  };
}
