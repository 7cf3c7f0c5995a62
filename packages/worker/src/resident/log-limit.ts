/** How many log lines of the user's code reach the host: bursts pass, floods are counted. */
const LINES_PER_SECOND = 100;
const BURST_LINES = 200;

export interface LogLimit {
  /** Whether this line may pass. */
  take(): boolean;
  /** How many did not since it was last asked. */
  takeDropped(): number;
}

export function createLogLimit(nowMs = (): number => performance.now()): LogLimit {
  let [allowance, countedAt, dropped] = [BURST_LINES, nowMs(), 0];
  return {
    take() {
      const now = nowMs();
      allowance = Math.min(BURST_LINES, allowance + ((now - countedAt) * LINES_PER_SECOND) / 1000);
      countedAt = now;
      if (allowance < 1) {
        dropped += 1;
        return false;
      }
      allowance -= 1;
      return true;
    },
    takeDropped() {
      const lines = dropped;
      dropped = 0;
      return lines;
    },
  };
}
