import type { HeartbeatCounters } from './worker-lines.ts';

/** What the processes of an attempt used when they were last looked at. */
export interface Use {
  readonly cpuMs: number;
  readonly at: string;
  readonly cpuPercent?: number;
  readonly memoryBytes?: number;
}

/** A script after the agent has processes of its own, whose time begins anew. */
export function useAfter(last: Use | undefined, { cpuMs, memoryBytes }: HeartbeatCounters, at: string): Use {
  const elapsedMs = last === undefined ? 0 : Date.parse(at) - Date.parse(last.at);
  const spentMs = cpuMs - (last === undefined || cpuMs < last.cpuMs ? 0 : last.cpuMs);
  return {
    cpuMs,
    at,
    ...(elapsedMs > 0 ? { cpuPercent: Math.round((1000 * spentMs) / elapsedMs) / 10 } : {}),
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
  };
}
