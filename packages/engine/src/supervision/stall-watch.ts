/** Notices that a run makes no progress and reports why, once per silence; the caller acts on a stall timeout. */
import type { HeartbeatCounters } from '@caisson/protocol';
import type { StallReason } from './contract.ts';
import { findStallReason, type Stall } from './stall-reason.ts';

export const SILENT_BEATS = 2;
const CPU_BEATS = 3;

export interface StallWatch {
  /** Anything that shows progress: output, a tool call, tokens. */
  progress(nowMs: number): void;
  beat(nowMs: number, counters: HeartbeatCounters): void;
  /** `silence` is why the worker does not report; then what it saw last explains nothing any more. */
  check(nowMs: number, silence: Stall | null): void;
  setWaitingForPermission(isWaiting: boolean): void;
  /** While the model's answers fail there is no progress. */
  setModelFailing(isFailing: boolean): void;
  silentMs(nowMs: number): number;
  /** Time in which our own process was stopped does not count. */
  excuse(ms: number): void;
}

export function createStallWatch(options: {
  startedMs: number;
  heartbeatMs: number;
  usesModel: boolean;
  onStalled(reason: StallReason, detail: string, silentMs: number): void;
}): StallWatch {
  let lastProgressMs = options.startedMs;
  let reported: StallReason | null = null;
  /** Who is stopped cannot speak, and what a silent worker's agent does is not known: silence counts from then on. */
  let couldSpeakMs = options.startedMs;
  let isWaitingForPermission = false;
  let isModelFailing = false;
  let openTool: string | null = null;
  let waiting: HeartbeatCounters['waiting'] = null;
  let hasBeaten = false;
  const measureShare = createShareMeter(options.startedMs);
  let cpuShare = 0;

  const progress = (nowMs: number): void => {
    if (isModelFailing) return;
    lastProgressMs = nowMs;
    reported = null;
  };
  return {
    progress,
    beat(nowMs, counters) {
      hasBeaten = true;
      cpuShare = measureShare(nowMs, counters.cpuMs);
      openTool = counters.currentTool;
      waiting = counters.waiting;
      if (counters.bytes + counters.turns + counters.toolCalls + counters.tokensIn + counters.tokensOut > 0)
        progress(nowMs);
    },
    check(nowMs, silence) {
      const silentMs = nowMs - lastProgressMs;
      const canSpeak = silence === null && waiting !== 'stopped';
      if (!canSpeak) couldSpeakMs = nowMs;
      const quietMs = canSpeak ? nowMs - Math.max(lastProgressMs, couldSpeakMs) : silentMs;
      if (silence === null && (!hasBeaten || quietMs < SILENT_BEATS * options.heartbeatMs)) return;
      const { usesModel } = options;
      const signals = { isWaitingForPermission, isModelFailing, waiting, openTool, cpuShare, usesModel };
      const { reason, detail } = silence ?? findStallReason(signals);
      if (reason === reported) return;
      reported = reason;
      options.onStalled(reason, detail, silentMs);
    },
    setWaitingForPermission(isWaiting) {
      isWaitingForPermission = isWaiting;
    },
    setModelFailing(isFailing) {
      isModelFailing = isFailing;
    },
    silentMs: (nowMs) => nowMs - lastProgressMs,
    excuse(ms) {
      lastProgressMs += ms;
    },
  };
}

/** The share of a core over the last few beats: one alone means little on a busy machine. */
function createShareMeter(startedMs: number): (nowMs: number, totalMs: number) => number {
  let looks = [{ atMs: startedMs, totalMs: 0 }];
  return (nowMs, totalMs) => {
    const [first = { atMs: nowMs, totalMs }] = looks;
    const elapsedMs = nowMs - first.atMs;
    looks = [...looks.slice(-CPU_BEATS + 1), { atMs: nowMs, totalMs }];
    return elapsedMs > 0 ? Math.max(0, totalMs - first.totalMs) / elapsedMs : 0;
  };
}
