import { definedOnly } from '@caisson/protocol';
import { setTimeout as pause } from 'node:timers/promises';
import type { StreamFn } from '@earendil-works/pi-agent-core';

const MAX_RETRIES = 2;
const FIRST_PAUSE_MS = 500;
/** What node's fetch and pi's providers say of a stream that broke off. */
const CUT =
  /terminated|other side closed|ECONNRESET|socket hang up|premature close|ended (?:before|without)/i;

/**
 * Asks again for an answer whose stream broke off. The client below does so only until an answer has begun. Nothing of an
 * answer is shown before it is whole, so nothing is said twice.
 */
export function retryCutStreams(stream: StreamFn): StreamFn {
  return async (model, context, options) => {
    for (let retries = 0; ; retries += 1) {
      const answer = await stream(model, context, options);
      const { stopReason, errorMessage = '' } = await answer.result();
      const isCut = stopReason === 'error' && CUT.test(errorMessage);
      if (!isCut || retries === MAX_RETRIES || options?.signal?.aborted === true) return answer;
      await pause(FIRST_PAUSE_MS * 2 ** retries, undefined, definedOnly({ signal: options?.signal })).catch(
        () => undefined,
      ); // an order to stop is seen by the next request
    }
  };
}
