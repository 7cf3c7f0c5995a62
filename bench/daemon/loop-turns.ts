import { setImmediate as onCheck } from 'node:timers';

/** One turn of the event loop: when it ended, and the CPU time that this thread spent in it. */
export interface LoopTurn {
  readonly endedAtMs: number;
  readonly cpuMs: number;
}

/**
 * Measures every turn of this thread's event loop until stopped. An immediate without a reference is run at the end of
 * each turn and never causes one, so a loop that waits stays asleep. CPU time, not wall time: what other processes and
 * threads do meanwhile does not count.
 */
export function watchTurns(): { stop(): LoopTurn[] } {
  const turns: LoopTurn[] = [];
  let isStopped = false;
  let before = threadCpuMs();
  const endTurn = (): void => {
    if (isStopped) return;
    const now = threadCpuMs();
    turns.push({ endedAtMs: performance.now(), cpuMs: now - before });
    before = threadCpuMs(); // without what the measurement itself takes
    onCheck(endTurn).unref();
  };
  onCheck(endTurn).unref();
  return {
    stop() {
      isStopped = true;
      return turns;
    },
  };
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
