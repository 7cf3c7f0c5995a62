import { CaissonError, endingOfStop, type StopEnding } from '@caisson/protocol';
import type { StopOrder } from './control.ts';

/** The attempt was ordered to stop; the order says how it ends. */
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

/** The ending that an order causes. */
export function endingOfOrder(order: StopOrder): StopEnding {
  if (order.kind === 'stop') return endingOfStop(order.reason, order.detail);
  return { kind: 'failed', failure: { reason: 'lost', detail: 'the host is gone' } };
}
