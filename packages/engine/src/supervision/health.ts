/**
 * Health from heartbeats. healthy → stale after 3 missed → dead after 6 → recovered with the next beat → healthy with
 * the one after it. A state, never a kill (S3).
 */
import type { HealthState } from './contract.ts';

const STALE_AFTER_BEATS = 3;
const DEAD_AFTER_BEATS = 6;

export interface HealthMonitor {
  readonly state: HealthState;
  beat(nowMs: number): void;
  check(nowMs: number): void;
  /** Time in which our own process was stopped does not count. */
  excuse(ms: number): void;
}

export function createHealthMonitor(options: {
  heartbeatMs: number;
  startedMs: number;
  onChange(previous: HealthState, current: HealthState): void;
}): HealthMonitor {
  let state: HealthState = 'healthy';
  let lastBeatMs = options.startedMs;
  const move = (next: HealthState): void => {
    if (next === state) return;
    const previous = state;
    state = next;
    options.onChange(previous, next);
  };
  return {
    get state() {
      return state;
    },
    beat(nowMs) {
      lastBeatMs = nowMs;
      move(state === 'stale' || state === 'dead' ? 'recovered' : 'healthy');
    },
    check(nowMs) {
      const missed = (nowMs - lastBeatMs) / options.heartbeatMs;
      if (missed >= DEAD_AFTER_BEATS) move('dead');
      else if (missed >= STALE_AFTER_BEATS && state !== 'dead') move('stale');
    },
    excuse(ms) {
      lastBeatMs += ms;
    },
  };
}
