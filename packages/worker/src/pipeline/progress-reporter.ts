/** Turns the agent's signals into progress lines: tool changes and turns at once, counters at most every 200 ms. */
import { definedOnly } from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';
import type { AgentSignal, UsageCount } from '../runtimes/index.ts';

const QUIET_MS = 200;

export interface ProgressReporter {
  report(signal: AgentSignal): void;
  flush(): void;
}

export function createProgressReporter(context: AttemptContext): ProgressReporter {
  let model: string | undefined;
  let sessionId: string | undefined;
  let lastReported = -Infinity;
  let timer: NodeJS.Timeout | undefined;

  const say = (): void => {
    clearTimeout(timer);
    timer = undefined;
    lastReported = performance.now();
    const { meter } = context;
    context.writer.write({
      kind: 'progress',
      phase: 'agent',
      tool: meter.currentTool,
      turns: meter.turns,
      toolCalls: meter.toolCalls,
      ...(meter.hasUsage ? tokensOf(meter.usage) : {}),
      ...definedOnly({ costUsd: meter.costUsd, model, sessionId }),
    });
  };
  const saySoon = (): void => {
    const wait = lastReported + QUIET_MS - performance.now();
    if (wait <= 0) say();
    else timer ??= setTimeout(say, wait);
  };
  return {
    report(signal) {
      if (signal.kind === 'drift') {
        context.writer.write({
          kind: 'warning',
          source: `runtime:${context.job.runtime.name}`,
          message: signal.detail,
        });
        return;
      }
      if (signal.kind === 'compaction') {
        context.writer.write(signal);
        return;
      }
      if (signal.kind === 'model') model = signal.model;
      if (signal.kind === 'session') sessionId = signal.sessionId;
      if (signal.kind === 'tool-start' || signal.kind === 'tool-end' || signal.kind === 'usage') say();
      else saySoon();
    },
    flush() {
      if (timer !== undefined) say();
    },
  };
}

function tokensOf(usage: UsageCount): Record<string, number> {
  return {
    tokensIn: usage.inputTokens,
    tokensOut: usage.outputTokens,
    cacheReadTokens: usage.cacheReadTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
  };
}
