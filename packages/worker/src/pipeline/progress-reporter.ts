/** Turns the agent's signals into progress lines: tool changes and turns at once, text and counters at most every 200 ms. */
import { StringDecoder } from 'node:string_decoder';
import { definedOnly } from '@caisson/protocol';
import type { AttemptContext } from '../attempt/index.ts';
import type { AgentSignal, UsageCount } from '../runtimes/index.ts';

const QUIET_MS = 200;
const MAX_TEXT = 2000;

export interface ProgressReporter {
  report(signal: AgentSignal): void;
  flush(): void;
}

export function createProgressReporter(context: AttemptContext): ProgressReporter {
  // A secret may come in pieces, so the agent's text is one stream for the redactor, not one text per line.
  const words = context.redactor.createStream();
  const decoder = new StringDecoder('utf8');
  let text = '';
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
      ...(text === '' ? {} : { text: text.slice(0, MAX_TEXT) }),
      turns: meter.turns,
      toolCalls: meter.toolCalls,
      ...(meter.hasUsage ? tokensOf(meter.usage) : {}),
      ...definedOnly({ costUsd: meter.costUsd, model, sessionId }),
    });
    text = '';
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
      if (signal.kind === 'text') text += decoder.write(words.push(Buffer.from(signal.text)));
      if (signal.kind === 'model') model = signal.model;
      if (signal.kind === 'session') sessionId = signal.sessionId;
      if (signal.kind === 'tool-start' || signal.kind === 'tool-end' || signal.kind === 'usage') say();
      else saySoon();
    },
    flush() {
      text += decoder.write(words.flush());
      if (timer !== undefined || text !== '') say();
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
