/** Everything that a daemon does by itself at some time, on one timer (DM6). */
import type { Clock } from '@caisson/ground';

export interface TimedTask {
  readonly name: string;
  readonly everyMs: number;
  /** Others act when it is late: it may be due more often than once a second. */
  readonly isExact?: boolean;
  run(): unknown;
}

export interface TimersOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly tasks: readonly TimedTask[];
  /** A failure ends nothing: the task is tried again when it is due. Repeated failures are reported once. */
  warn(message: string): void;
}

export interface Timers {
  /** Resolves when no task is under way. */
  stop(): Promise<void>;
}

const SHORTEST_MS = 1000;
/** What is due so soon is done now: one wake-up instead of two. */
const SOON_MS = 20;

interface Entry {
  readonly task: TimedTask;
  dueMs: number;
  underWay: Promise<void> | null;
  problem: string | null;
}

/** Each task runs when its time has passed for the first time. One that takes longer is not started twice. */
export function startTimers({ clock, tasks, warn }: TimersOptions): Timers {
  const startedMs = clock.monotonicMs();
  const entries = tasks.map((task): Entry => ({
    task,
    dueMs: startedMs + task.everyMs,
    underWay: null,
    problem: null,
  }));
  const exact = tasks.filter(({ isExact }) => isExact);
  const shortestMs = Math.max(SOON_MS, Math.min(SHORTEST_MS, ...exact.map(({ everyMs }) => everyMs)));
  let cancel = (): void => undefined;
  const carryOut = async (entry: Entry): Promise<void> => {
    try {
      await entry.task.run();
      entry.problem = null;
    } catch (error) {
      const { message } = error as Error;
      if (entry.problem !== message) warn(`${entry.task.name}: ${message}`);
      entry.problem = message;
    }
  };
  const pass = (): void => {
    const nowMs = clock.monotonicMs();
    for (const entry of entries) {
      if (entry.dueMs > nowMs + SOON_MS) continue;
      entry.dueMs = nextDueMs(entry, nowMs);
      entry.underWay ??= carryOut(entry).finally(() => (entry.underWay = null));
    }
    arm();
  };
  const arm = (): void => {
    const nextMs = Math.min(...entries.map(({ dueMs }) => dueMs)) - clock.monotonicMs();
    cancel = clock.setTimer(Math.max(shortestMs, nextMs), pass);
  };
  if (entries.length > 0) arm();
  return {
    async stop() {
      cancel();
      for (const { underWay } of entries) await underWay;
    },
  };
}

/** Counted from its first time, so that tasks whose times are multiples of each other stay together. */
function nextDueMs({ task: { everyMs }, dueMs }: Entry, nowMs: number): number {
  const missed = Math.max(0, Math.floor((nowMs - dueMs) / everyMs));
  return dueMs + (missed + 1) * everyMs;
}
