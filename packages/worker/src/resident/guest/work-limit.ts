/** How work of a thread is given up: it is asked first, and ended after the grace. */
import { systemClock } from '@caisson/ground';
import type { UserThread } from './user-thread.ts';

export interface WorkLimit {
  /** Asks the code to stop for this reason, unless there is no grace; the first one counts. */
  abort(kind: 'timeout' | 'aborted', why: string, graceMs: number): void;
  /** Why it was asked to, if it was. */
  reason(): { readonly kind: 'timeout' | 'aborted'; readonly detail: string } | null;
  /** The work is over. */
  clear(): void;
}

/** `number`: of the compute, where the thread makes more than one. */
export function createWorkLimit(
  thread: UserThread,
  { number, onKill }: { readonly number?: number; onKill(): void },
): WorkLimit {
  let reason: ReturnType<WorkLimit['reason']> = null;
  let clear = (): void => undefined;
  return {
    abort(kind, why, graceMs) {
      if (reason !== null) return;
      reason = { kind, detail: why };
      if (graceMs > 0) thread.post({ kind: 'abort', why, number });
      clear = systemClock.setTimer(graceMs, () => {
        onKill();
        void thread.end();
      });
    },
    reason: () => reason,
    clear: () => clear(),
  };
}
