import type { Failure } from '@caisson/protocol';
import type { StopOrder } from './control.ts';
import { CaissonError } from '@caisson/protocol';

/** The attempt was ordered to stop; how it ends is in the order. */
export class StoppedError extends CaissonError {
  readonly code = 'STOPPED';
  readonly order: StopOrder;

  constructor(order: StopOrder) {
    super(order.kind === 'stop' ? `stopped: ${order.reason}` : 'stopped: the host is gone');
    this.order = order;
  }
}

export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new StoppedError(signal.reason as StopOrder);
}

export type StopEnding =
  | { readonly kind: 'cancelled'; readonly cause: 'user' | 'shutdown' }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** The ending that an order stands for. */
export function endingOfOrder(order: StopOrder): StopEnding {
  if (order.kind === 'host-lost')
    return { kind: 'failed', failure: { reason: 'lost', detail: 'the host is gone' } };
  const detail = order.detail ?? '';
  switch (order.reason) {
    case 'user':
    case 'interrupt':
      return { kind: 'cancelled', cause: 'user' };
    case 'shutdown':
      return { kind: 'cancelled', cause: 'shutdown' };
    case 'timeout':
      return { kind: 'failed', failure: { reason: 'timeout', detail: detail || 'the deadline passed' } };
    case 'stalled':
      return {
        kind: 'failed',
        failure: { reason: 'timeout', cause: 'stalled', detail: detail || 'no progress' },
      };
    case 'budget':
      return {
        kind: 'failed',
        failure: { reason: 'budget-exceeded', detail: detail || 'a budget cap was passed' },
      };
    case 'loop':
      return {
        kind: 'failed',
        failure: {
          reason: 'provider-failed',
          cause: 'loop',
          detail: detail || 'the same call failed again and again',
        },
      };
    case 'disk':
      return {
        kind: 'failed',
        failure: {
          reason: 'provider-failed',
          cause: 'disk',
          detail: detail || 'the workspace grew past its limit',
        },
      };
  }
}
