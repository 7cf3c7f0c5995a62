/** Counts what the agent does, from its own stream: turns, tool calls, tokens, cost, models. */
import { definedOnly, type Usage } from '@caisson/protocol';
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
  return new StreamMeter();
}

class StreamMeter implements Meter {
  readonly #models = new Set<string>();
  readonly #open = new Map<string, string>();
  #modelMs: number | undefined;
  turns = 0;
  toolCalls = 0;
  usage = NOTHING;
  hasUsage = false;
  costUsd: number | undefined;

  get currentTool(): string | null {
    return [...this.#open.values()].at(-1) ?? null;
  }

  count(signal: AgentSignal): void {
    switch (signal.kind) {
      case 'turn':
        this.turns += 1;
        return;
      case 'model':
        this.#models.add(signal.model);
        return;
      case 'tool-start':
        this.toolCalls += 1;
        this.#open.set(signal.callId, signal.tool);
        return;
      case 'tool-end':
        this.#open.delete(signal.callId);
        return;
      case 'usage':
        this.hasUsage = true;
        this.usage = signal.how === 'total' ? signal.usage : addUsage(this.usage, signal.usage);
        return;
      case 'cost':
        this.costUsd = signal.usd;
        return;
      case 'model-time':
        this.#modelMs = signal.ms;
        return;
      default:
    }
  }

  toUsage(): Usage | undefined {
    if (!this.hasUsage) return undefined; // unknown is never 0
    const { costUsd, turns, toolCalls } = this;
    // A program that says 0 for a turn of its model does not know the price.
    const hasCost = costUsd !== undefined && (costUsd > 0 || turns === 0);
    return {
      models: [...this.#models],
      ...this.usage,
      turns,
      toolCalls,
      ...definedOnly({ costUsd: hasCost ? costUsd : undefined, durationMs: this.#modelMs }),
    };
  }
}

export function addUsage(left: UsageCount, right: UsageCount): UsageCount {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cacheReadTokens: left.cacheReadTokens + right.cacheReadTokens,
    cacheWriteTokens: left.cacheWriteTokens + right.cacheWriteTokens,
  };
}
