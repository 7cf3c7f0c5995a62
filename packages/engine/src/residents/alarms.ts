/** Times of the wall clock that work waits for, with one timer for the next of them. */
import type { Clock } from '@caisson/ground';

/** A clock that was set is noticed after this. */
const LONGEST_LEG_MS = 30_000;

export interface Alarms {
  /** Calls back once, when that time has come, also when it is past. Returns an idempotent cancel. */
  set(atMs: number, onDue: () => void): () => void;
  stop(): void;
}

export function createAlarms(clock: Clock): Alarms {
  const alarms = new Set<{ readonly atMs: number; readonly onDue: () => void }>();
  let cancelTimer = (): void => undefined;
  const arm = (): void => {
    cancelTimer();
    if (alarms.size === 0) return;
    let next = Infinity;
    for (const { atMs } of alarms) next = Math.min(next, atMs);
    cancelTimer = clock.setTimer(Math.min(LONGEST_LEG_MS, Math.max(0, next - clock.wallMs())), ring);
  };
  const ring = (): void => {
    const due = [...alarms].filter(({ atMs }) => atMs <= clock.wallMs());
    for (const alarm of due) alarms.delete(alarm);
    arm();
    for (const { onDue } of due) onDue();
  };
  return {
    set(atMs, onDue) {
      const alarm = { atMs, onDue };
      alarms.add(alarm);
      arm();
      return () => void (alarms.delete(alarm) && arm());
    },
    stop() {
      alarms.clear();
      cancelTimer();
    },
  };
}
