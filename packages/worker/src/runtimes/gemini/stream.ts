import type { AgentCause } from '@caisson/protocol';
import { causeOf, findCauseOnStderr } from '../agent-cause.ts';
import { conclude, concludeFailed, type AgentRecord } from '../agent-record.ts';
import type { AgentExit, AgentSignal, AgentStream, UsageCount } from '../contract.ts';
import { numberOf, objectOf, textOf, type Json } from '../json-line.ts';
import { createJsonStream } from '../json-stream.ts';

const OWN_WORDS: readonly (readonly [AgentCause, RegExp])[] = [
  ['loop', /loop detected/i],
  ['empty-answer', /empty response|no final response text/i],
  ['max-turns', /max(imum)? (session )?turns/i],
];

const NO_WORDS = /unknown error/i;

/** The only sign of a failed command without output. */
const SILENT_FAILURE = /^\s*Command exited with code: (?!0\s*$)-?\d+\s*$/;

/** Reads `gemini --output-format stream-json`. */
export function createGeminiStream(): AgentStream {
  return createJsonStream((record) => {
    // Turns are not in the stream: one begins with the first text or call after the last result.
    let isInTurn = false;
    // Announced before it exists: of a session whose model never answered it finds nothing to resume.
    let unsaved: readonly AgentSignal[] = [];
    const beginTurn = (): readonly AgentSignal[] => {
      if (isInTurn) return [];
      isInTurn = true;
      const signals: readonly AgentSignal[] = [...unsaved, { kind: 'turn' }];
      unsaved = [];
      return signals;
    };
    const read = (event: Json, type: string): readonly AgentSignal[] | null => {
      switch (type) {
        case 'init':
          unsaved = [{ kind: 'session', sessionId: textOf(event.session_id) }];
          return [];
        case 'message':
          return event.role === 'assistant' ? [...beginTurn(), ...readMessage(event, record)] : [];
        case 'tool_use':
          record.reply = '';
          return [...beginTurn(), readToolUse(event)];
        case 'tool_result':
          isInTurn = false;
          return readToolResult(event, record);
        case 'error':
          return readError(event, record);
        case 'result':
          return readResult(event, record);
        default:
          return null;
      }
    };
    return { read, exited: (exit) => findWords(record, exit) };
  });
}

/** Some versions drop the server's message from their last event and print it on stderr. */
function findWords(record: AgentRecord, exit: AgentExit): void {
  const { failure } = record;
  if (failure !== null && NO_WORDS.test(failure.detail))
    record.failure = { ...failure, cause: findCauseOnStderr(exit.stderrTail) ?? failure.cause };
}

function readToolUse(event: Json): AgentSignal {
  const callId = textOf(event.tool_id);
  return { kind: 'tool-start', callId, tool: textOf(event.tool_name), input: event.parameters };
}

/** The reply comes in pieces; text before a tool call is not part of it. */
function readMessage(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const text = textOf(event.content);
  record.reply = event.delta === true ? record.reply + text : text;
  return [{ kind: 'text', text, ...(event.delta === true ? { isPiece: true } : {}) }];
}

function readToolResult(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const output = textOf(event.output);
  // It reports a failed command as a success, and only one without output can be recognised.
  const ok = event.status === 'success' && !SILENT_FAILURE.test(output);
  record.hasLastToolFailed = !ok;
  const detail = textOf(objectOf(event.error).message) || output;
  return [{ kind: 'tool-end', callId: textOf(event.tool_id), ok, ...(ok ? {} : { detail }) }];
}

function readError(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const detail = textOf(event.message);
  const cause = causeOfWords(detail);
  record.trouble = { cause, detail };
  // The result that follows reports a success.
  return cause === 'loop' || cause === 'max-turns'
    ? concludeFailed(record, record.trouble)
    : [{ kind: 'waiting', text: detail }];
}

function causeOfWords(detail: string): AgentCause {
  return OWN_WORDS.find(([, pattern]) => pattern.test(detail))?.[0] ?? causeOf(detail);
}

function readResult(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const stats = objectOf(event.stats);
  // What served, by its own name; `init` only repeats the requested name.
  const models = Object.entries(objectOf(stats.models))
    .filter(([, counted]) => numberOf(objectOf(counted).total_tokens) > 0)
    .map(([model]) => ({ kind: 'model', model }) as const);
  const counted: readonly AgentSignal[] = [...models, { kind: 'usage', how: 'total', usage: usageOf(stats) }];
  if (event.status === 'success') return [...counted, ...conclude(record)];
  const detail = textOf(objectOf(event.error).message);
  // An earlier `error` line reports some failures, and the result only says that there was one.
  const failure = detail === '' ? record.trouble : { cause: causeOfWords(detail), detail };
  return [
    ...counted,
    ...concludeFailed(record, failure ?? { cause: 'api-error', detail: 'the run failed without a message' }),
  ];
}

/** `input` is without the cache; thinking is output without a field, so it is the rest of the total. */
function usageOf(stats: Json): UsageCount {
  const cacheReadTokens = numberOf(stats.cached);
  const input = numberOf(stats.input_tokens);
  const thinking = Math.max(0, numberOf(stats.total_tokens) - input - numberOf(stats.output_tokens));
  return {
    inputTokens: Math.max(0, input - cacheReadTokens),
    outputTokens: numberOf(stats.output_tokens) + thinking,
    cacheReadTokens,
    cacheWriteTokens: 0,
  };
}
