import { causeOf } from '../agent-cause.ts';
import { conclude, CUT_ANSWER, type AgentRecord } from '../agent-record.ts';
import type { AgentSignal, AgentStream } from '../contract.ts';
import { listOf, numberOf, objectOf, reasonOf, textOf, type Json } from '../json-line.ts';
import { createJsonStream } from '../json-stream.ts';

const QUIET = new Set([
  'agent_start',
  'turn_end',
  'message_start',
  'message_update',
  'tool_execution_update',
  'queue_update',
  'session_info_changed',
  'thinking_level_changed',
  'entry_appended',
]);

/** Reads `pi --mode json`. Its exit code means nothing: a 401 exits 0 with `stopReason: "error"`. */
export function createPiStream(): AgentStream {
  return createJsonStream((record) => {
    const models = new Set<string>();
    let hasEnded = false;
    const settle = (): readonly AgentSignal[] => {
      record.failure ??= record.trouble;
      return conclude(record);
    };
    const read = (event: Json, type: string): readonly AgentSignal[] | null => {
      switch (type) {
        case 'session':
          return [{ kind: 'session', sessionId: textOf(event.id) }];
        case 'turn_start':
          return [{ kind: 'turn' }];
        case 'message_end':
          return readMessage(objectOf(event.message), record, models);
        case 'tool_execution_start':
          return [readToolStart(event)];
        case 'tool_execution_end':
          return readToolEnd(event, record);
        case 'compaction_start':
          return [{ kind: 'compaction', ...reasonOf(event.reason) }];
        case 'auto_retry_start':
          return [readRetry(event)];
        case 'agent_end':
          hasEnded = true; // a retry may still follow
          return [];
        case 'agent_settled':
          return settle();
        default:
          return isQuiet(type) ? [] : null;
      }
    };
    // Before 0.82 no event says that no retry follows; the exit does.
    return { read, exited: ({ signal }) => void (hasEnded && signal === null && settle()) };
  });
}

const isQuiet = (type: string): boolean =>
  QUIET.has(type) || type.startsWith('auto_retry') || type.startsWith('compaction');

function readRetry(event: Json): AgentSignal {
  const count = `${numberOf(event.attempt)} of ${numberOf(event.maxAttempts)}`;
  return { kind: 'waiting', text: `${textOf(event.errorMessage)}; trying again (${count})` };
}

function readToolStart(event: Json): AgentSignal {
  const callId = textOf(event.toolCallId);
  return { kind: 'tool-start', callId, tool: textOf(event.toolName), input: event.args };
}

function readMessage(message: Json, record: AgentRecord, models: Set<string>): readonly AgentSignal[] {
  if (message.role !== 'assistant') return [];
  const signals: AgentSignal[] = [];
  const text = listOf(message.content)
    .filter((part) => part.type === 'text')
    .map((part) => textOf(part.text))
    .join('\n');
  if (text !== '') signals.push({ kind: 'text', text });
  const reason = textOf(message.stopReason);
  const detail = textOf(message.errorMessage);
  // An error may still be retried; it counts when the agent settles with it.
  const hasFailed = reason === 'error' || reason === 'aborted';
  record.trouble = hasFailed ? { cause: causeOf(detail), detail } : reason === 'length' ? CUT_ANSWER : null;
  // Without an answer only the requested name is known.
  const model = textOf(message.responseModel) || (hasFailed ? '' : textOf(message.model));
  if (model !== '' && !models.has(model)) {
    models.add(model);
    signals.push({ kind: 'model', model });
  }
  record.reply = !hasFailed && reason !== 'toolUse' ? text : '';
  signals.push(...usageSignals(objectOf(message.usage)));
  return signals;
}

function usageSignals(usage: Json): readonly AgentSignal[] {
  const count = {
    inputTokens: numberOf(usage.input),
    outputTokens: numberOf(usage.output),
    cacheReadTokens: numberOf(usage.cacheRead),
    cacheWriteTokens: numberOf(usage.cacheWrite),
  };
  return Object.values(count).some((tokens) => tokens > 0)
    ? [{ kind: 'usage', how: 'delta', usage: count }]
    : [];
}

function readToolEnd(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const ok = event.isError !== true;
  record.hasLastToolFailed = !ok;
  const detail = listOf(objectOf(event.result).content)
    .map((part) => textOf(part.text))
    .join('\n');
  return [{ kind: 'tool-end', callId: textOf(event.toolCallId), ok, ...(ok ? {} : { detail }) }];
}
