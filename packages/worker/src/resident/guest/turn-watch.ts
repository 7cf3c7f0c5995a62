/**
 * Finds a turn whose code never gives its thread back: a loop without end. Silence is counted in checks, so that a machine
 * that slept ends nobody.
 */
import type { UserThread } from './user-thread.ts';

const CHECKS = 6;

export interface TurnWatch {
  /** The thread has answered. */
  answered(): void;
  stop(): void;
}

export function watchTurn(
  thread: Pick<UserThread, 'post'>,
  silenceMs: number,
  onSilent: () => void,
): TurnWatch {
  let unanswered = 0;
  const timer = setInterval(() => {
    if (unanswered >= CHECKS) {
      clearInterval(timer);
      return onSilent();
    }
    unanswered += 1;
    thread.post({ kind: 'ping' });
  }, silenceMs / CHECKS);
  return {
    answered: () => void (unanswered = 0),
    stop: () => clearInterval(timer),
  };
}
