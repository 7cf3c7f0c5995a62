/** What a silent run is waiting for, from real signals. Pure, so that every case can be shown. */
import type { StallReason } from './contract.ts';

export interface StallSignals {
  readonly isWaitingForPermission: boolean;
  readonly isWorkerAlive: boolean;
  /** The agent exited but its streams are held open. */
  readonly hasAgentExited: boolean;
  readonly waitsOnStdin: boolean;
  readonly openTool: string | null;
  /** Share of one core the tree used since the last look. */
  readonly cpuShare: number;
}

/** Whoever only waits for a model uses a few per cent; whoever spins gets at least this much, also on a full machine. */
const BUSY_SHARE = 0.25;

export function findStallReason(signals: StallSignals): { reason: StallReason; detail: string } {
  if (!signals.isWorkerAlive) return { reason: 'gone', detail: 'the worker process is not there any more' };
  if (signals.isWaitingForPermission)
    return { reason: 'waiting-permission', detail: 'a tool call waits for a decision: caisson approvals' };
  if (signals.hasAgentExited)
    return {
      reason: 'exited-but-pipe-open',
      detail: 'the agent exited, but something holds its output open',
    };
  if (signals.waitsOnStdin) return { reason: 'waiting-stdin', detail: 'the agent reads from its stdin' };
  if (signals.cpuShare >= BUSY_SHARE) {
    const where = signals.openTool === null ? '' : ` in ${signals.openTool}`;
    return {
      reason: 'spinning',
      detail: `no output, but ${Math.round(signals.cpuShare * 100)} % of a core is in use${where}`,
    };
  }
  if (signals.openTool !== null)
    return { reason: 'in-tool', detail: `the tool call ${signals.openTool} has not returned` };
  return {
    reason: 'model-silent',
    detail: 'nothing was printed and nothing is computed; an agent waits for its model',
  };
}
