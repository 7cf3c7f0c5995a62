/** What a silent run waits for, from real signals. Pure, so that every case can be tested. */
import type { HeartbeatCounters } from '@caisson/protocol';
import type { StallReason } from './contract.ts';

export interface Stall {
  readonly reason: StallReason;
  readonly detail: string;
}

export interface StallSignals {
  readonly isWaitingForPermission: boolean;
  readonly isModelFailing: boolean;
  /** What the worker saw the agent's processes wait for. */
  readonly waiting: HeartbeatCounters['waiting'];
  readonly openTool: string | null;
  /** Share of one core the tree used over the last samples. */
  readonly cpuShare: number;
  readonly usesModel: boolean;
}

/**
 * A process that only waits for a model uses a few per cent; one that spins gets at least this much, also on a full
 * machine.
 */
const BUSY_SHARE = 0.1;

export function findStallReason(signals: StallSignals): Stall {
  if (signals.isWaitingForPermission)
    return { reason: 'waiting-permission', detail: 'a tool call waits for a decision: caisson approvals' };
  if (signals.isModelFailing)
    return { reason: 'model-failing', detail: 'the agent asks its model, and every answer fails' };
  if (signals.waiting === 'pipe-open')
    return {
      reason: 'exited-but-pipe-open',
      detail: 'the agent exited, but something in its sandbox does not end',
    };
  if (signals.waiting === 'stdin')
    return { reason: 'waiting-stdin', detail: 'the agent, or a program it started, reads from its stdin' };
  if (signals.cpuShare >= BUSY_SHARE) return spinning(signals);
  if (signals.waiting === 'stopped')
    return {
      reason: 'stopped',
      detail: 'the agent, or a program it started, was stopped by a signal; SIGCONT continues it',
    };
  if (signals.openTool !== null)
    return { reason: 'in-tool', detail: `the tool call ${signals.openTool} has not returned` };
  return signals.usesModel
    ? {
        reason: 'model-silent',
        detail: 'nothing is printed or computed; an agent waits for its model',
      }
    : { reason: 'in-tool', detail: 'the command has not returned; it prints nothing and computes nothing' };
}

function spinning({ openTool, cpuShare }: StallSignals): Stall {
  const where = openTool === null ? '' : ` in ${openTool}`;
  const percent = Math.round(cpuShare * 100);
  return { reason: 'spinning', detail: `no output, but ${percent} % of a core is in use${where}` };
}

/** Why a worker does not report: what the kernel says about its process. */
export function findSilence(state: string | null): Stall {
  if (state === 'T')
    return { reason: 'stopped', detail: 'the worker was stopped by a signal; SIGCONT continues it' };
  return state === null || state === 'Z' || state === 'X'
    ? { reason: 'gone', detail: 'the worker process is gone' }
    : { reason: 'gone', detail: 'the worker exists but does not report; the machine may be overloaded' };
}
