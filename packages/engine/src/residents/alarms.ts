/**
 * Times of the wall clock that work waits for, with one timer for the next of them. A clock that is set back makes no wait longer: it
 * is over at the latest after the time that was left when it began.
 */
import type { Clock } from '@caisson/ground';

/** A clock that was set is noticed after this. */
const LONGEST_LEG_MS = 30_000;

interface Alarm {
  readonly atMs: number;
  /** By the clock that nobody sets. */
  readonly latestMs: number;
  readonly onDue: () => void;
}

export interface Alarms {
  /** Calls back once, when that time has come, also when it is past. Returns an idempotent cancel. */
  set(atMs: number, onDue: () => void): () => void;
  stop(): void;
}

export function createAlarms(clock: Clock): Alarms {
  const alarms = new Set<Alarm>();
  const leftMsOf = ({ atMs, latestMs }: Alarm): number =>
    Math.min(atMs - clock.wallMs(), latestMs - clock.monotonicMs());
  let cancelTimer = (): void => undefined;
  const arm = (): void => {
    cancelTimer();
    if (alarms.size === 0) return;
    let next = Infinity;
    for (const alarm of alarms) next = Math.min(next, leftMsOf(alarm));
    cancelTimer = clock.setTimer(Math.min(LONGEST_LEG_MS, Math.max(0, next)), ring);
  };
  const ring = (): void => {
    const due = [...alarms].filter((alarm) => leftMsOf(alarm) <= 0);
    for (const alarm of due) alarms.delete(alarm);
    arm();
    for (const { onDue } of due) onDue();
  };
  return {
    set(atMs, onDue) {
      const alarm = { atMs, latestMs: clock.monotonicMs() + atMs - clock.wallMs(), onDue };
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
