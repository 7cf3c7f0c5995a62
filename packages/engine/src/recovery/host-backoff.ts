/**
 * A dead host whose runs cannot be settled now: waiting processes check it again after 1 s, 2 s and so on, up to 60 s.
 */
import type { Clock } from '@caisson/ground';
import { backoffMs } from '../platform/index.ts';

export interface HostBackoff {
  isDue(host: string): boolean;
  note(host: string, isSettled: boolean): void;
}

export function createHostBackoff(clock: Pick<Clock, 'monotonicMs'>): HostBackoff {
  const failed = new Map<string, { readonly tries: number; readonly dueMs: number }>();
  return {
    isDue: (host) => clock.monotonicMs() >= (failed.get(host)?.dueMs ?? 0),
    note(host, isSettled) {
      const tries = failed.get(host)?.tries ?? 0;
      if (isSettled) failed.delete(host);
      else failed.set(host, { tries: tries + 1, dueMs: clock.monotonicMs() + backoffMs(tries) });
    },
  };
}
