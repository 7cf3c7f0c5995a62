/** Time as a parameter, so that tests can control it. */

export interface Clock {
  /** The wall clock, for `at` fields. */
  now(): Date;
  wallMs(): number;
  /** Only differences are meaningful; never jumps back. For durations and deadlines. */
  monotonicMs(): number;
  /** Calls `fn` once after `ms`. Returns an idempotent cancel. Any length is allowed. */
  setTimer(ms: number, fn: () => void): () => void;
}

export interface ManualClock extends Clock {
  /** Moves both clocks forward and fires what is due, in order of due time, then of creation. */
  advance(ms: number): void;
  /** Sets the wall clock alone, as an NTP step or an operator would. */
  stepWall(wallMs: number): void;
  pendingTimers(): number;
}

/** Node fires timers above this at once; longer ones are split. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const NODE_TIMERS: Timers = {
  setTimeout: (work, ms) => setTimeout(work, ms),
  clearTimeout: (timer) => clearTimeout(timer),
};

export const systemClock: Clock = {
  now: () => new Date(),
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (ms, fn) => startTimer(ms, fn),
};

/** The timers of Node, or those of a program that controls its own. */
export interface Timers {
  setTimeout(work: () => void, ms: number): unknown;
  clearTimeout(timer: never): void;
}

/** Calls `fn` once after `ms`. Returns an idempotent cancel. Any length is allowed. */
export function startTimer(ms: number, fn: () => void, timers: Timers = NODE_TIMERS): () => void {
  let timer: unknown;
  const arm = (remainingMs: number): void => {
    const legMs = Math.min(remainingMs, MAX_TIMER_MS);
    timer = timers.setTimeout(() => (remainingMs > legMs ? arm(remainingMs - legMs) : fn()), legMs);
  };
  arm(Math.max(0, ms));
  return () => timers.clearTimeout(timer as never);
}

/** A clock that only tests move. */
export function createManualClock(startWallMs = Date.UTC(2026, 0, 1)): ManualClock {
  let wall = startWallMs;
  let monotonic = 0;
  let nextId = 0;
  const timers = new Map<number, { dueAt: number; fn: () => void }>();

  const takeNextDue = (limit: number): { dueAt: number; fn: () => void } | null => {
    let best: { id: number; dueAt: number } | null = null;
    for (const [id, timer] of timers) {
      if (timer.dueAt <= limit && (best === null || timer.dueAt < best.dueAt))
        best = { id, dueAt: timer.dueAt };
    }
    if (best === null) return null;
    const timer = timers.get(best.id) ?? null;
    timers.delete(best.id);
    return timer;
  };
  const moveTo = (target: number): void => {
    wall += target - monotonic;
    monotonic = target;
  };

  return {
    now: () => new Date(wall),
    wallMs: () => wall,
    monotonicMs: () => monotonic,
    setTimer(ms, fn) {
      const id = nextId++;
      timers.set(id, { dueAt: monotonic + Math.max(0, ms), fn });
      return () => void timers.delete(id);
    },
    advance(ms) {
      const target = monotonic + ms;
      for (let timer = takeNextDue(target); timer !== null; timer = takeNextDue(target)) {
        moveTo(Math.max(monotonic, timer.dueAt));
        timer.fn();
      }
      moveTo(Math.max(monotonic, target));
    },
    stepWall(wallMs) {
      wall = wallMs;
    },
    pendingTimers: () => timers.size,
  };
}
