import { randomFillSync } from 'node:crypto';
import { createId } from '@caisson/protocol';

const TAIL = 10;
const POOL_IDS = 400;
const PREFIX_CHARACTERS = 'evt_'.length + 10;

/**
 * Makes ids for events that came without one: time first, so that the index grows at its end, then chance.
 * Chance is drawn and spelled in bulk, for one at a time it costs more than hashing the event.
 */
export function createEventIds(): () => string {
  let tails = '';
  let used = 0;
  let prefix = '';
  let prefixMs = -1;
  return () => {
    const nowMs = Date.now();
    if (nowMs !== prefixMs) {
      prefix = createId('evt', nowMs, new Uint8Array(TAIL)).slice(0, PREFIX_CHARACTERS);
      prefixMs = nowMs;
    }
    if (used === tails.length) {
      tails = drawTails();
      used = 0;
    }
    used += TAIL;
    return prefix + tails.slice(used - TAIL, used);
  };
}

function drawTails(): string {
  const bytes = randomFillSync(new Uint8Array(TAIL * POOL_IDS));
  let text = '';
  for (let start = 0; start < bytes.length; start += TAIL) {
    text += createId('evt', 0, bytes.subarray(start, start + TAIL)).slice(PREFIX_CHARACTERS);
  }
  return text;
}
