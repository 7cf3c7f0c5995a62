/**
 * From a polite order to an empty process tree.
 *   asked → (the worker ends in time) → gone
 *   asked → grace and a margin passed → killed → gone
 * K1  The worker itself signals the agent and waits the grace; we wait that grace plus a margin for its report.
 * K2  A second order with `force` skips what is left of the grace.
 */
import type { Clock } from '@caisson/ground';

const REPORT_MARGIN_MS = 1500;

export interface KillLadder {
  start(graceMs: number): void;
  force(): void;
  cancel(): void;
}

export function createKillLadder(options: {
  clock: Clock;
  order(graceMs: number): void;
  kill(): void;
}): KillLadder {
  let cancelTimer: (() => void) | null = null;
  let isStarted = false;
  return {
    start(graceMs) {
      if (isStarted) return;
      isStarted = true;
      options.order(graceMs);
      cancelTimer = options.clock.setTimer(graceMs + REPORT_MARGIN_MS, options.kill); // K1
    },
    force() {
      cancelTimer?.();
      isStarted = true;
      options.kill(); // K2
    },
    cancel() {
      cancelTimer?.();
    },
  };
}
