import { causeOf } from '../agent-cause.ts';
import { conclude, concludeFailed, type AgentRecord } from '../agent-record.ts';
import type { AgentSignal, AgentStream, UsageCount } from '../contract.ts';
import { listOf, numberOf, objectOf, reasonOf, textOf, type Json } from '../json-line.ts';
import { createJsonStream } from '../json-stream.ts';

/** Known and not needed. */
const QUIET = new Set([
  'rate_limit_event',
  'stream_event',
  'control_request',
  'keep_alive',
  'tool_progress',
  'auth_status',
]);

/**
 * Reads `--output-format stream-json`. `before` is the earlier usage of a resumed conversation: some versions report
 * its sum.
 */
export function createClaudeCodeStream(before?: UsageCount): AgentStream {
  return createJsonStream((record) => {
    const seenMessages = new Set<string>();
    return {
      read: (event, type) => {
        if (type === 'system') return readSystem(event, record);
        if (type === 'assistant') return readAssistant(event, seenMessages, record);
        if (type === 'user') return readToolResults(event, record);
        if (type === 'result') return readResult(event, record, before);
        return QUIET.has(type) ? [] : null;
      },
    };
  });
}

function readSystem(event: Json, record: AgentRecord): readonly AgentSignal[] {
  if (event.subtype === 'init') {
    return [{ kind: 'session', sessionId: textOf(event.session_id) }];
  }
  if (event.subtype === 'api_retry') return readRetry(event, record);
  if (event.subtype !== 'compact_boundary') return [];
  return [{ kind: 'compaction', ...reasonOf(objectOf(event.compact_metadata).trigger) }];
}

/** A wrong key stays wrong: there is no reason to wait, though Claude would try ten times. */
function readRetry(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const status = numberOf(event.error_status);
  const cause = causeOf(textOf(event.error), status);
  record.trouble = { cause, detail: `HTTP ${status} ${textOf(event.error)}` };
  if (cause === 'auth') return concludeFailed(record, record.trouble);
  const { attempt, max_retries: most } = event;
  const text = `${record.trouble.detail}; trying again (${numberOf(attempt)} of ${numberOf(most)})`;
  return [{ kind: 'waiting', text }];
}

function readAssistant(event: Json, seen: Set<string>, record: AgentRecord): readonly AgentSignal[] {
  const message = objectOf(event.message);
  const signals: AgentSignal[] = [];
  const id = textOf(message.id);
  // Claude reports a failed request as an assistant message of a synthetic model: no turn, no tokens.
  if (!seen.has(id) && message.model !== '<synthetic>') {
    seen.add(id);
    record.trouble = null;
    // What served, by its own name; `init` only repeats the requested name.
    if (textOf(message.model) !== '') signals.push({ kind: 'model', model: textOf(message.model) });
    signals.push({ kind: 'turn' }, { kind: 'usage', how: 'delta', usage: usageOf(objectOf(message.usage)) });
  }
  if (message.stop_reason === 'refusal')
    record.failure = { cause: 'refusal', detail: 'the model refused to answer' };
  for (const block of listOf(message.content)) {
    if (block.type === 'text') signals.push({ kind: 'text', text: textOf(block.text) });
    if (block.type === 'tool_use') {
      signals.push({
        kind: 'tool-start',
        callId: textOf(block.id),
        tool: textOf(block.name),
        input: block.input,
      });
    }
  }
  return signals;
}

function readToolResults(event: Json, record: AgentRecord): readonly AgentSignal[] {
  return listOf(objectOf(event.message).content)
    .filter((block) => block.type === 'tool_result')
    .map((block) => {
      const ok = block.is_error !== true;
      record.hasLastToolFailed = !ok;
      const detail = ok ? {} : { detail: textOf(block.content) };
      return { kind: 'tool-end', callId: textOf(block.tool_use_id), ok, ...detail } as const;
    });
}

function readResult(event: Json, record: AgentRecord, before?: UsageCount): readonly AgentSignal[] {
  const text = textOf(event.result);
  const status = numberOf(event.api_error_status);
  const errors = Array.isArray(event.errors) ? event.errors.map(String).join('; ') : '';
  if (event.stop_reason === 'refusal') record.failure ??= { cause: 'refusal', detail: text };
  if (event.is_error === true || textOf(event.subtype).startsWith('error')) {
    record.failure ??= failureOf(textOf(event.subtype), [text, errors].filter(Boolean).join('; '), status);
  } else record.reply = text;
  const { usage, cost } = accountOf(event, before);
  const signals: AgentSignal[] = [{ kind: 'usage', how: 'total', usage }];
  if (cost !== null) signals.push({ kind: 'cost', usd: cost });
  if (typeof event.duration_api_ms === 'number')
    signals.push({ kind: 'model-time', ms: event.duration_api_ms });
  return [...signals, ...conclude(record)];
}

function failureOf(subtype: string, detail: string, status: number) {
  if (subtype === 'error_max_turns') return { cause: 'max-turns', detail: detail || subtype } as const;
  return { cause: causeOf(detail, status), detail: detail || subtype };
}

/**
 * What this run used and cost, helper models included. `usage` leaves the helpers out. The newest versions report it in
 * a separate field; before them `modelUsage` and `total_cost_usd` are the run's in some versions and a resumed
 * conversation's in others. It is the latter if they contain both the earlier count and the run's own `usage`.
 */
function accountOf(event: Json, before?: UsageCount): { usage: UsageCount; cost: number | null } {
  const own = event.model_usage_since_last_result;
  if (own !== undefined) {
    const models = Object.values(objectOf(own)).map(objectOf);
    return { usage: totalOf(models, event), cost: sumOf(models, 'costUSD') };
  }
  const total = totalOf(Object.values(objectOf(event.modelUsage)).map(objectOf), event);
  const cost = typeof event.total_cost_usd === 'number' ? event.total_cost_usd : null;
  if (before === undefined) return { usage: total, cost };
  const run = usageOf(objectOf(event.usage));
  const isSessionSum = COUNTS.every((name) => total[name] >= before[name] + run[name]);
  // The earlier cost of the conversation is unknown, so the price table computes the cost.
  return isSessionSum ? { usage: minus(total, before), cost: null } : { usage: total, cost };
}

const COUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const;

const minus = (sum: UsageCount, before: UsageCount): UsageCount => ({
  inputTokens: sum.inputTokens - before.inputTokens,
  outputTokens: sum.outputTokens - before.outputTokens,
  cacheReadTokens: sum.cacheReadTokens - before.cacheReadTokens,
  cacheWriteTokens: sum.cacheWriteTokens - before.cacheWriteTokens,
});

const sumOf = (models: readonly Json[], field: string): number =>
  models.reduce((total, model) => total + numberOf(model[field]), 0);

function totalOf(models: readonly Json[], event: Json): UsageCount {
  if (models.length === 0) return usageOf(objectOf(event.usage));
  return {
    inputTokens: sumOf(models, 'inputTokens'),
    outputTokens: sumOf(models, 'outputTokens'),
    cacheReadTokens: sumOf(models, 'cacheReadInputTokens'),
    cacheWriteTokens: sumOf(models, 'cacheCreationInputTokens'),
  };
}

function usageOf(usage: Json): UsageCount {
  return {
    inputTokens: numberOf(usage.input_tokens),
    outputTokens: numberOf(usage.output_tokens),
    cacheReadTokens: numberOf(usage.cache_read_input_tokens),
    cacheWriteTokens: numberOf(usage.cache_creation_input_tokens),
  };
}
