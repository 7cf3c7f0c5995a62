/** One compute that a thread has, until its outcome is known. */
import { systemClock } from '@caisson/ground';
import type { EmittedSignal, GuestFailure } from '@caisson/protocol';
import type { Handed } from './waiting-computes.ts';
import { createWorkLimit } from './work-limit.ts';

export interface Outcome {
  readonly signals: readonly EmittedSignal[];
  readonly failure?: GuestFailure;
}

export interface RunningCompute {
  readonly id: string;
  readonly handed: Handed;
  abandon(why: string, graceMs: number): void;
  isGivenUp(): boolean;
  /** Null: its thread had ended, and did not begin it. */
  readonly outcome: Promise<Outcome | null>;
}

export interface ComputeHooks {
  onBegin(): void;
  /** It is asked to stop; its thread may end with it. */
  onAbort(): void;
  /** It did not stop within its grace, and its thread is being ended. */
  onKill(): void;
  onLog(text: string): void;
}

export function runCompute(handed: Handed, hooks: ComputeHooks): RunningCompute {
  const { order, thread, number } = handed;
  const { promise: outcome, resolve } = Promise.withResolvers<Outcome | null>();
  const finish = (found: Outcome | null): void => {
    stopTimer();
    limit.clear();
    thread.onEnded = () => undefined;
    const reason = limit.reason();
    // One that succeeded after all has committed its state.
    resolve(reason === null || (found !== null && found.failure === undefined) ? found : failed(reason));
  };
  const lose = (failure: GuestFailure): void =>
    finish(thread.tickets.isTaken(number) ? failed(failure) : null);
  const limit = createWorkLimit(thread, {
    number,
    onKill() {
      finish(failed({ kind: 'aborted', detail: 'it did not stop' }));
      hooks.onKill();
    },
  });
  const abort = (kind: 'timeout' | 'aborted', why: string, graceMs: number): void => {
    hooks.onAbort();
    limit.abort(kind, why, graceMs);
  };
  const { timeoutMs, graceMs } = order;
  const late = (): void => abort('timeout', `it took longer than ${timeoutMs} ms`, graceMs);
  const stopTimer = systemClock.setTimer(timeoutMs, late);
  hooks.onBegin();
  thread.onLine = (line) => {
    if (line.kind === 'logged') hooks.onLog(line.text);
    else if (line.kind === 'computed' && line.number === number) finish(line);
  };
  thread.onEnded = lose;
  const failure = thread.failure();
  if (failure !== null) lose(failure);
  return {
    ...{ id: order.id, handed, outcome },
    abandon: (why, grace) => abort('aborted', why, grace),
    isGivenUp: () => limit.reason() !== null,
  };
}

export function failed(failure: GuestFailure): Outcome {
  return { signals: [], failure };
}
