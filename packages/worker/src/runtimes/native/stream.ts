import { AGENT_CAUSES } from '@caisson/protocol';
import { causeOf } from '../agent-cause.ts';
import { conclude, concludeFailed, type AgentRecord } from '../agent-record.ts';
import type { AgentSignal, AgentStream } from '../contract.ts';
import { numberOf, textOf, type Json } from '../json-line.ts';
import { createJsonStream } from '../json-stream.ts';

/** Reads the lines of `native/native-lines.ts`. */
export function createNativeStream(options: { takesMessages?: boolean } = {}): AgentStream {
  return {
    ...createJsonStream((record) => ({ read: (event, type) => readEvent(event, type, record) })),
    answer: (callId, decision) => `${JSON.stringify({ id: callId, decision })}\n`,
    ...(options.takesMessages === true ? { inject: (body) => `${JSON.stringify({ message: body })}\n` } : {}),
  };
}

function readEvent(event: Json, type: string, record: AgentRecord): readonly AgentSignal[] | null {
  const callId = textOf(event.id);
  const tool = textOf(event.tool);
  const judged = { callId, tool, actionClass: textOf(event.actionClass), rule: textOf(event.rule) };
  switch (type) {
    case 'session':
      return [
        { kind: 'session', sessionId: callId },
        ...(textOf(event.model) === '' ? [] : [{ kind: 'model', model: textOf(event.model) } as const]),
      ];
    case 'model':
      return [{ kind: 'model', model: textOf(event.model) }];
    case 'turn':
      return [{ kind: 'turn' }];
    case 'text':
      return [{ kind: 'text', text: textOf(event.text) }];
    case 'tool_start':
      return [{ kind: 'tool-start', callId, tool, input: event.input }];
    case 'tool_end':
      record.hasLastToolFailed = event.ok !== true;
      return [{ kind: 'tool-end', callId, ok: event.ok === true, ...detailOf(event) }];
    case 'usage':
      return [{ kind: 'usage', how: 'delta', usage: usageOf(event) }];
    case 'cost':
      return [{ kind: 'cost', usd: numberOf(event.usd) }];
    case 'denied':
      return [{ kind: 'denied', ...judged, input: event.input, cause: textOf(event.cause) }];
    case 'ask':
      return [{ kind: 'ask', ...judged, input: event.input }];
    case 'done':
      record.reply = textOf(event.reply);
      return conclude(record);
    case 'error': {
      const detail = textOf(event.message);
      const cause = AGENT_CAUSES.find((known) => known === event.cause) ?? causeOf(detail);
      return concludeFailed(record, { cause, detail });
    }
    default:
      return null;
  }
}

const detailOf = (event: Json) => (typeof event.detail === 'string' ? { detail: event.detail } : {});

const usageOf = (event: Json) => ({
  inputTokens: numberOf(event.input),
  outputTokens: numberOf(event.output),
  cacheReadTokens: numberOf(event.cacheRead),
  cacheWriteTokens: numberOf(event.cacheWrite),
});
