/** Notices that a run makes no progress and says why, once per silence; a stall timeout is the caller's to act on. */
import type { HeartbeatCounters } from '@caisson/protocol';
import type { StallReason } from './contract.ts';
import { findStallReason } from './stall-reason.ts';

export const SILENT_BEATS = 2;
const CPU_BEATS = 3;

export interface StallWatch {
  /** Anything that shows progress: output, a tool call, tokens. */
  progress(nowMs: number): void;
  beat(nowMs: number, counters: HeartbeatCounters): void;
  check(nowMs: number, isWorkerAlive: boolean): void;
  setWaitingForPermission(isWaiting: boolean): void;
  silentMs(nowMs: number): number;
  /** Time in which we ourselves did not run counts for nobody. */
  excuse(ms: number): void;
}

export function createStallWatch(options: {
  startedMs: number;
  heartbeatMs: number;
  onStalled(reason: StallReason, detail: string, silentMs: number): void;
}): StallWatch {
  let lastProgressMs = options.startedMs;
  let told: StallReason | null = null;
  let isWaitingForPermission = false;
  let openTool: string | null = null;
  let waitsOnStdin = false;
  let hasAgentExited = false;
  let hasBeaten = false;
  /** The last few looks at the tree's CPU time: one beat alone says little on a busy machine. */
  let looks = [{ atMs: options.startedMs, totalMs: 0 }];
  let cpuShare = 0;

  const progress = (nowMs: number): void => {
    lastProgressMs = nowMs;
    told = null;
  };
  return {
    progress,
    beat(nowMs, counters) {
      hasBeaten = true;
      const [first = { atMs: nowMs, totalMs: counters.cpuMs }] = looks;
      const elapsed = nowMs - first.atMs;
      cpuShare = elapsed > 0 ? Math.max(0, counters.cpuMs - first.totalMs) / elapsed : 0;
      looks = [...looks.slice(-CPU_BEATS + 1), { atMs: nowMs, totalMs: counters.cpuMs }];
      openTool = counters.currentTool;
      waitsOnStdin = counters.waiting === 'stdin';
      hasAgentExited = counters.waiting === 'pipe-open';
      if (counters.bytes + counters.turns + counters.toolCalls + counters.tokensIn + counters.tokensOut > 0)
        progress(nowMs);
    },
    check(nowMs, isWorkerAlive) {
      const silentMs = nowMs - lastProgressMs;
      if (isWorkerAlive && (!hasBeaten || silentMs < SILENT_BEATS * options.heartbeatMs)) return;
      const { reason, detail } = findStallReason({
        isWaitingForPermission,
        isWorkerAlive,
        hasAgentExited,
        waitsOnStdin,
        openTool,
        cpuShare,
      });
      if (reason === told) return;
      told = reason;
      options.onStalled(reason, detail, silentMs);
    },
    setWaitingForPermission(isWaiting) {
      isWaitingForPermission = isWaiting;
    },
    silentMs: (nowMs) => nowMs - lastProgressMs,
    excuse(ms) {
      lastProgressMs += ms;
    },
  };
}
