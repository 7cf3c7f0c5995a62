import type { AgentCause } from '@caisson/protocol';
import { causeOf } from '../agent-cause.ts';
import { conclude, concludeFailed, type AgentRecord } from '../agent-record.ts';
import type { AgentSignal, AgentStream, UsageCount } from '../contract.ts';
import { numberOf, objectOf, textOf, type Json } from '../json-line.ts';
import { createJsonStream } from '../json-stream.ts';

/** Items that are work, with our names. Others are text. */
const TOOL_ITEMS = new Map([
  ['command_execution', 'shell'],
  ['file_change', 'apply_patch'],
  ['mcp_tool_call', 'mcp'],
  ['web_search', 'web_search'],
  ['collab_tool_call', 'collab'],
]);
const QUIET_ITEMS = new Set(['agent_message', 'reasoning', 'todo_list', 'error']);

/** Its messages for a 500, and for an unreadable answer; both look like something else. */
const API_ERROR =
  /experiencing high demand, which may cause temporary errors|stream disconnected before completion: (UTF8 error|Parse error|expected |EOF while parsing)/i;

const NO_USAGE: UsageCount = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Reads `codex exec --json`. `before` is the earlier usage of a resumed conversation: codex reports the sum. */
export function createCodexStream(before: UsageCount = NO_USAGE): AgentStream {
  return createJsonStream((record) => ({
    read: (event, type) => {
      switch (type) {
        case 'thread.started':
          return [{ kind: 'session', sessionId: textOf(event.thread_id) }];
        case 'turn.started':
          return [{ kind: 'turn' }];
        case 'item.started':
        case 'item.updated':
        case 'item.completed':
          return readItem(type, objectOf(event.item), record);
        case 'turn.completed':
          return readTurnCompleted(objectOf(event.usage), before, record);
        case 'turn.failed':
          return readFailure(textOf(objectOf(event.error).message), record);
        case 'error':
          return readTrouble(textOf(event.message), record);
        default:
          return null;
      }
    },
  }));
}

function readItem(type: string, item: Json, record: AgentRecord): readonly AgentSignal[] {
  const kind = textOf(item.type);
  const tool = TOOL_ITEMS.get(kind);
  if (tool !== undefined) return readToolItem(type, tool, item, record);
  if (kind === 'agent_message' && type === 'item.completed') {
    record.reply = textOf(item.text);
    return [{ kind: 'text', text: record.reply }];
  }
  if (kind === 'context_compaction') return type === 'item.completed' ? [{ kind: 'compaction' }] : [];
  return QUIET_ITEMS.has(kind) ? [] : [{ kind: 'drift', detail: `unknown item "${kind}"` }];
}

function readToolItem(type: string, tool: string, item: Json, record: AgentRecord): readonly AgentSignal[] {
  const callId = textOf(item.id);
  const name = tool === 'mcp' ? `${textOf(item.server)}.${textOf(item.tool)}` : tool;
  if (type === 'item.started') return [{ kind: 'tool-start', callId, tool: name, input: inputOf(item) }];
  if (type !== 'item.completed') return [];
  const ok = item.status === 'completed' && (typeof item.exit_code !== 'number' || item.exit_code === 0);
  record.hasLastToolFailed = !ok;
  const words = textOf(item.aggregated_output) || textOf(objectOf(item.error).message);
  return [{ kind: 'tool-end', callId, ok, ...(ok ? {} : { detail: words }) }];
}

function inputOf(item: Json): unknown {
  if (item.type === 'command_execution') return { command: item.command };
  if (item.type === 'file_change') return { changes: item.changes };
  return item.arguments ?? item.query;
}

/** Codex counts cached tokens inside the input, and one turn is the whole run. */
function readTurnCompleted(usage: Json, before: UsageCount, record: AgentRecord): readonly AgentSignal[] {
  record.trouble = null;
  const cacheRead = numberOf(usage.cached_input_tokens);
  const cacheWrite = numberOf(usage.cache_write_input_tokens);
  const since = (sum: number, earlier: number) => Math.max(0, sum - earlier);
  const total: UsageCount = {
    inputTokens: since(numberOf(usage.input_tokens) - cacheRead - cacheWrite, before.inputTokens),
    outputTokens: since(numberOf(usage.output_tokens), before.outputTokens),
    cacheReadTokens: since(cacheRead, before.cacheReadTokens),
    cacheWriteTokens: since(cacheWrite, before.cacheWriteTokens),
  };
  return [{ kind: 'usage', how: 'total', usage: total }, ...conclude(record)];
}

function readFailure(message: string, record: AgentRecord): readonly AgentSignal[] {
  return concludeFailed(record, { cause: causeOfWords(message), detail: message });
}

/** "Reconnecting… 1/2" comes as an error too; only `turn.failed` is final. A wrong key stays wrong. */
function readTrouble(message: string, record: AgentRecord): readonly AgentSignal[] {
  record.trouble = { cause: causeOfWords(message), detail: message };
  return record.trouble.cause === 'auth'
    ? concludeFailed(record, record.trouble)
    : [{ kind: 'waiting', text: message }];
}

function causeOfWords(message: string): AgentCause {
  return API_ERROR.test(message) ? 'api-error' : causeOf(message);
}
