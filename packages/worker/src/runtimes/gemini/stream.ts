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

/** All that it shows of a command that failed and printed nothing. */
const SILENT_FAILURE = /^\s*Command exited with code: (?!0\s*$)-?\d+\s*$/;

/** Reads `gemini --output-format stream-json`. */
export function createGeminiStream(): AgentStream {
  return createJsonStream((record) => {
    // Turns are not in the stream: one begins with the first word or call after the last result.
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

/** Some versions drop the server's words from their last event and leave them on stderr. */
function findWords(record: AgentRecord, exit: AgentExit): void {
  const { failure } = record;
  if (failure !== null && NO_WORDS.test(failure.detail))
    record.failure = { ...failure, cause: findCauseOnStderr(exit.stderrTail) ?? failure.cause };
}

function readToolUse(event: Json): AgentSignal {
  const callId = textOf(event.tool_id);
  return { kind: 'tool-start', callId, tool: textOf(event.tool_name), input: event.parameters };
}

/** The reply comes in pieces; what was said before a tool call is not part of it. */
function readMessage(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const text = textOf(event.content);
  record.reply = event.delta === true ? record.reply + text : text;
  return [{ kind: 'text', text }];
}

function readToolResult(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const output = textOf(event.output);
  // A command that fails is a success in its words, and only one that printed nothing is told apart.
  const ok = event.status === 'success' && !SILENT_FAILURE.test(output);
  record.hasLastToolFailed = !ok;
  const detail = textOf(objectOf(event.error).message) || output;
  return [
    { kind: 'tool-end', callId: textOf(event.tool_id), ok, ...(ok ? {} : { detail: detail.slice(-500) }) },
  ];
}

function readError(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const detail = textOf(event.message);
  const cause = causeOfWords(detail);
  record.trouble = { cause, detail };
  // The result that follows calls it a success.
  return cause === 'loop' || cause === 'max-turns' ? concludeFailed(record, record.trouble) : [];
}

function causeOfWords(detail: string): AgentCause {
  return OWN_WORDS.find(([, pattern]) => pattern.test(detail))?.[0] ?? causeOf(detail);
}

function readResult(event: Json, record: AgentRecord): readonly AgentSignal[] {
  const stats = objectOf(event.stats);
  // What served, by its own name; `init` only repeats what was asked for.
  const models = Object.entries(objectOf(stats.models))
    .filter(([, counted]) => numberOf(objectOf(counted).total_tokens) > 0)
    .map(([model]) => ({ kind: 'model', model }) as const);
  const counted: readonly AgentSignal[] = [...models, { kind: 'usage', how: 'total', usage: usageOf(stats) }];
  if (event.status === 'success') return [...counted, ...conclude(record)];
  const detail = textOf(objectOf(event.error).message);
  // Some failures are told by an `error` line before, and the result only says that there was one.
  const failure = detail === '' ? record.trouble : { cause: causeOfWords(detail), detail };
  return [
    ...counted,
    ...concludeFailed(record, failure ?? { cause: 'api-error', detail: 'the run failed without a word' }),
  ];
}

/** `input` is without the cache; thinking is output that has no name of its own, so it is what the total leaves. */
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
