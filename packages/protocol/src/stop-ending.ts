import type { ControlMessage } from './worker-lines.ts';
import type { Failure } from './failure.ts';

export type StopReason = Extract<ControlMessage, { kind: 'stop' }>['reason'];

/** How an attempt ends: what the worker reports and the host records. */
export type Ending =
  | { readonly kind: 'finished' }
  | { readonly kind: 'needs_input' }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'cancelled'; readonly cause: 'user' | 'shutdown' };

/** How an attempt ends that was ordered to stop. */
export type StopEnding = Extract<Ending, { readonly kind: 'failed' | 'cancelled' }>;

/** The ending that an order causes: the worker reports it, and the host assumes it if the worker could not. */
export function endingOfStop(reason: StopReason, detail = ''): StopEnding {
  const failed = (failure: Omit<Failure, 'detail'>, unsaid: string): StopEnding => ({
    kind: 'failed',
    failure: { ...failure, detail: detail === '' ? unsaid : detail },
  });
  switch (reason) {
    case 'user':
    case 'interrupt':
      return { kind: 'cancelled', cause: 'user' };
    case 'shutdown':
      return { kind: 'cancelled', cause: 'shutdown' };
    case 'timeout':
      return failed({ reason: 'timeout' }, 'the deadline passed');
    case 'stalled':
      return failed({ reason: 'timeout', cause: 'stalled' }, 'no progress');
    case 'budget':
      return failed({ reason: 'budget-exceeded' }, 'a budget cap was passed');
    case 'failed-answers':
      return failed(
        { reason: 'provider-failed', cause: 'failed-answers' },
        "too many of the model's answers failed in a row",
      );
    case 'no-connection':
      return failed(
        { reason: 'provider-failed', cause: 'no-connection' },
        'no connection to the model was possible',
      );
    case 'loop':
      return failed({ reason: 'provider-failed', cause: 'loop' }, 'the same call failed again and again');
    case 'disk':
      return failed({ reason: 'provider-failed', cause: 'disk' }, 'the workspace grew past its limit');
  }
}
