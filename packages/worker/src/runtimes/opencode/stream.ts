import { causeOf } from '../agent-cause.ts';
import { conclude, concludeFailed, CUT_ANSWER, type AgentRecord } from '../agent-record.ts';
import type { AgentSignal, AgentStream } from '../contract.ts';
import { numberOf, objectOf, textOf, type Json } from '../json-line.ts';
import { createJsonStream } from '../json-stream.ts';

const MAX_RETRIES = 3;

/** Reads `opencode run --format json`. There is no last event: the finish of a step without a tool call is the end. */
export function createOpencodeStream(): AgentStream {
  return createJsonStream((record) => {
    let hasSession = false;
    let costUsd = 0;
    const readSession = (event: Json): readonly AgentSignal[] => {
      const sessionId = textOf(event.sessionID);
      if (hasSession || sessionId === '') return [];
      hasSession = true;
      return [{ kind: 'session', sessionId }];
    };
    const readEvent = (event: Json, type: string): readonly AgentSignal[] | null => {
      const part = objectOf(event.part);
      switch (type) {
        case 'step_start':
          record.trouble = null;
          return [{ kind: 'turn' }];
        case 'text':
          record.reply = textOf(part.text);
          return [{ kind: 'text', text: record.reply }];
        case 'reasoning':
          return [];
        case 'tool_use':
          return readTool(part, record);
        case 'step_finish':
          costUsd += numberOf(part.cost);
          return [
            ...readUsage(objectOf(part.tokens)),
            ...readCost(costUsd),
            ...readFinish(textOf(part.reason), record),
          ];
        case 'caisson_retry':
          return readRetry(event, record);
        case 'error':
          return readError(objectOf(event.error), record);
        default:
          return null;
      }
    };
    return {
      read: (event, type) => {
        const signals = readEvent(event, type);
        return signals === null ? null : [...readSession(event), ...signals];
      },
    };
  });
}

/** A tool is reported once, when it is over. */
function readTool(part: Json, record: AgentRecord): readonly AgentSignal[] {
  const state = objectOf(part.state);
  const callId = textOf(part.callID);
  const exit = objectOf(state.metadata).exit;
  const ok = state.status === 'completed' && (typeof exit !== 'number' || exit === 0);
  record.hasLastToolFailed = !ok;
  const detail = textOf(state.error) || textOf(state.output);
  return [
    { kind: 'tool-start', callId, tool: textOf(part.tool), input: state.input },
    { kind: 'tool-end', callId, ok, ...(ok ? {} : { detail }), ...durationOf(objectOf(state.time)) },
  ];
}

function durationOf({ start, end }: Json): { durationMs?: number } {
  return typeof start === 'number' && typeof end === 'number' ? { durationMs: Math.max(0, end - start) } : {};
}

function readUsage(tokens: Json): readonly AgentSignal[] {
  const cache = objectOf(tokens.cache);
  const usage = {
    inputTokens: numberOf(tokens.input),
    outputTokens: numberOf(tokens.output) + numberOf(tokens.reasoning),
    cacheReadTokens: numberOf(cache.read),
    cacheWriteTokens: numberOf(cache.write),
  };
  return [{ kind: 'usage', how: 'delta', usage }];
}

/** It reports 0 for a model without a price; for us that is unknown. */
const readCost = (usd: number): readonly AgentSignal[] => (usd > 0 ? [{ kind: 'cost', usd }] : []);

function readFinish(reason: string, record: AgentRecord): readonly AgentSignal[] {
  if (reason === 'tool-calls') {
    record.reply = ''; // text beside a call, not an answer
    return [];
  }
  if (reason === 'length') {
    record.trouble = CUT_ANSWER; // a call in it may still be carried out
    return [];
  }
  if (reason === 'content-filter') {
    return concludeFailed(record, {
      cause: 'refusal',
      detail: 'the model refused to answer (content filter)',
    });
  }
  return conclude(record);
}

/** Reported by our plugin. opencode would continue for minutes; the host has its own backoff. */
function readRetry(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const detail = textOf(event.message);
  record.trouble = { cause: causeOf(detail), detail };
  return numberOf(event.attempt) >= MAX_RETRIES
    ? concludeFailed(record, record.trouble)
    : [{ kind: 'waiting', text: detail }];
}

function readError(error: Json, record: AgentRecord): readonly AgentSignal[] {
  const data = objectOf(error.data);
  const name = textOf(error.name);
  const detail = textOf(data.message) || textOf(error.message) || name;
  const words = `${detail} ${textOf(data.responseBody)}`;
  const cause = name === 'ProviderAuthError' ? 'auth' : causeOf(words, numberOf(data.statusCode));
  return concludeFailed(record, {
    cause: name === 'ContextOverflowError' ? 'context-overflow' : cause,
    detail,
  });
}
