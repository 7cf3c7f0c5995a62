/**
 * Ends an agent that repeats the same call without success.
 * LB1  The same denied call five times ends the run as `policy-denied`: a denial does not change.
 * LB2  The same failing call five times, with no call that worked in between, ends it as `provider-failed`: an agent
 *      that edits and tests again is not in a loop.
 */
import { classifyTool } from '@caisson/policy';
import type { Failure } from '@caisson/protocol';
import type { AgentSignal } from '../runtimes/index.ts';

const LIMIT = 5;

export interface LoopBreaker {
  denied(tool: string, input: unknown): void;
  receive(signal: AgentSignal): void;
}

export function createLoopBreaker(end: (failure: Failure) => void): LoopBreaker {
  const denials = new Map<string, number>();
  const failures = new Map<string, number>();
  const open = new Map<string, { tool: string; input: unknown }>();

  const denied = (tool: string, input: unknown): void => {
    if (count(denials, keyOf(tool, input)) < LIMIT) return;
    end({
      reason: 'policy-denied',
      cause: 'loop',
      detail: `the agent tried the same denied call ${LIMIT} times: ${describe(tool, input)}`,
    });
  };
  const failed = (tool: string, input: unknown): void => {
    if (count(failures, keyOf(tool, input)) < LIMIT) return;
    end({
      reason: 'provider-failed',
      cause: 'loop',
      detail: `the agent repeated the same failing call ${LIMIT} times: ${describe(tool, input)}`,
    });
  };
  return {
    denied,
    receive(signal) {
      if (signal.kind === 'tool-start') open.set(signal.callId, { tool: signal.tool, input: signal.input });
      if (signal.kind !== 'tool-end') return;
      const call = open.get(signal.callId);
      open.delete(signal.callId);
      if (signal.ok) failures.clear();
      else if (call !== undefined) failed(call.tool, call.input);
    },
  };
}

function count(counts: Map<string, number>, key: string): number {
  const next = (counts.get(key) ?? 0) + 1;
  counts.set(key, next);
  return next;
}

/** Two calls are the same when they do the same; the model's description of a command does not count. */
function keyOf(tool: string, input: unknown): string {
  return `${tool}\0${classifyTool(tool, input).command ?? stableJson(input)}`;
}

function describe(tool: string, input: unknown): string {
  return `${tool} ${classifyTool(tool, input).command ?? stableJson(input)}`.slice(0, 500);
}

function stableJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, item: unknown) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).toSorted(([left], [right]) => (left < right ? -1 : 1)))
        : item,
    ) ?? ''
  );
}
