/** Counts what the agent does, from its own stream: turns, tool calls, tokens, cost, models. */
import type { Usage } from '@caisson/protocol';
import type { AgentSignal, UsageCount } from '../runtimes/index.ts';

const NOTHING: UsageCount = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

export interface Meter {
  count(signal: AgentSignal): void;
  readonly turns: number;
  readonly toolCalls: number;
  /** Zeros while `hasUsage` is false. */
  readonly usage: UsageCount;
  /** Whether the agent has reported any usage. */
  readonly hasUsage: boolean;
  readonly costUsd: number | undefined;
  /** Name of the tool call that is open now. */
  readonly currentTool: string | null;
  /** The usage block of the result; `undefined` when the runtime reported nothing. */
  toUsage(): Usage | undefined;
}

export function createMeter(): Meter {
  const models = new Set<string>();
  const open = new Map<string, string>();
  let turns = 0;
  let toolCalls = 0;
  let usage = NOTHING;
  let costUsd: number | undefined;
  let modelMs: number | undefined;
  let hasUsage = false;

  return {
    count(signal) {
      switch (signal.kind) {
        case 'turn':
          turns += 1;
          return;
        case 'model':
          models.add(signal.model);
          return;
        case 'tool-start':
          toolCalls += 1;
          open.set(signal.callId, signal.tool);
          return;
        case 'tool-end':
          open.delete(signal.callId);
          return;
        case 'usage':
          hasUsage = true;
          usage = signal.how === 'total' ? signal.usage : addUsage(usage, signal.usage);
          return;
        case 'cost':
          costUsd = signal.usd;
          return;
        case 'model-time':
          modelMs = signal.ms;
          return;
        default:
      }
    },
    get turns() {
      return turns;
    },
    get toolCalls() {
      return toolCalls;
    },
    get usage() {
      return usage;
    },
    get hasUsage() {
      return hasUsage;
    },
    get costUsd() {
      return costUsd;
    },
    get currentTool() {
      return [...open.values()].at(-1) ?? null;
    },
    toUsage() {
      if (!hasUsage) return undefined; // unknown is never 0
      // A program that reports 0 for a turn of its model does not know the price.
      const hasCost = costUsd !== undefined && (costUsd > 0 || turns === 0);
      return {
        models: [...models],
        ...usage,
        ...(hasCost ? { costUsd } : {}),
        turns,
        toolCalls,
        ...(modelMs === undefined ? {} : { durationMs: modelMs }),
      };
    },
  };
}

export function addUsage(left: UsageCount, right: UsageCount): UsageCount {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cacheReadTokens: left.cacheReadTokens + right.cacheReadTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
  };
}
