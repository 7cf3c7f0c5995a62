/** One request to a model and its answer: what it used, by its own word or by an estimate, and which tools it called. */
import type { EarlyStop, ModelError, TokenCounts } from '@caisson/protocol';
import { tokensInBackground, tokensOfBytes, tokensOfPiece } from './estimate-usage.ts';
import { createKeptBytes, type KeepLimit } from './kept-bytes.ts';
import { readCalls, type ToolCall } from './read-calls.ts';
import { readError } from './read-error.ts';
import { readStop } from './read-stop.ts';
import { readUsage } from './read-usage.ts';

const MAX_BODY_BYTES = 8 * 1024 * 1024;
export const NO_TOKENS: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

export interface CountedAnswer {
  send(chunk: Buffer): void;
  /** The request is complete, or nothing more of it counts: it is read once, and its memory is released. Idempotent. */
  sentAll(): void;
  receive(value: unknown): void;
  miss(bytes: number): void;
  /** Its name, or that of the request. */
  readonly model: string;
  /** What the answer itself reported so far. */
  readonly said: TokenCounts;
  readonly stop: EarlyStop | null;
  readonly error: ModelError | null;
  /** The tools that it called, in their order. */
  readonly calls: readonly string[];
  /** Nothing that it says or calls could be read. */
  readonly isEmpty: boolean;
  /** Whether the request offers tools: what an agent asks beside its task (a title, a summary) has none. */
  offersTools(): boolean;
  /** The missing part of the counts once nothing more will come, and its model; null if all was reported. */
  estimate(isWhole: boolean): { model: string; inputTokens: number; outputTokens: number } | null;
}

export interface AnswerCounts {
  /** What a piece says beyond the ones before it. */
  add(model: string, more: TokenCounts): void;
  /** A tool was called. */
  called(): void;
  /** A piece of the request was sent. */
  sent(): void;
}

/** `path` names the model in Gemini's requests. `limit` is for the bodies of all requests. */
export function createCountedAnswer(path: string, counts: AnswerCounts, limit: KeepLimit): CountedAnswer {
  const request = createRequestBody(counts.sent, limit);
  const calls = createCallList(counts.called);
  let model: string | null = null;
  let said = NO_TOKENS;
  let written = 0;
  let hasContent = false;
  let promised = 0;
  let stop: EarlyStop | null = null;
  let error: ModelError | null = null;
  const nameModel = (): string => model ?? request.model() ?? /\/models\/([^/:]+):/.exec(path)?.[1] ?? '';
  return {
    send: request.add,
    sentAll: request.end,
    miss: (bytes) => void (written += tokensOfBytes(bytes)),
    get model() {
      return nameModel();
    },
    get said() {
      return said;
    },
    get stop() {
      return stop;
    },
    get error() {
      return error;
    },
    get calls() {
      return calls.tools;
    },
    get isEmpty() {
      return !hasContent && calls.tools.length === 0 && stop === null;
    },
    offersTools: request.offersTools,
    receive(value) {
      calls.take(readCalls(value));
      error ??= readError(value);
      stop ??= readStop(value);
      const tokens = tokensOfPiece(value);
      hasContent ||= tokens > 0;
      written += tokens;
      promised = Math.max(promised, tokensInBackground(value));
      const piece = readUsage(value);
      model ??= piece?.model ?? null;
      if (piece?.counts == null) return;
      // The pieces report the sum so far, and a later one may correct it: the difference is added.
      const sum = { ...said, ...piece.counts };
      if (totalOf(sum) === 0) return; // an answer that used nothing has not reported its usage
      counts.add(nameModel(), minusTokens(sum, said));
      said = sum;
    },
    estimate(isWhole) {
      const hasInput = totalOf(said) - said.outputTokens > 0;
      const isOutputKnown = isWhole && said.outputTokens > 0;
      const inputTokens = hasInput ? 0 : tokensOfBytes(request.bytes());
      const outputTokens = isOutputKnown ? 0 : Math.max(0, Math.max(written, promised) - said.outputTokens);
      return inputTokens + outputTokens === 0 ? null : { model: nameModel(), inputTokens, outputTokens };
    },
  };
}

/** A call may be reported in several pieces, and once more in the sum at the end. */
function createCallList(onCall: () => void): {
  readonly tools: readonly string[];
  take(calls: readonly ToolCall[]): void;
} {
  const tools: string[] = [];
  const known = new Set<string>();
  return {
    tools,
    take(calls) {
      for (const { key, tool } of calls) {
        if (key !== null && known.has(key)) continue;
        if (key !== null) known.add(key);
        tools.push(tool);
        onCall();
      }
    },
  };
}

/**
 * Kept until it is complete: a request of many megabytes is only counted. Reports of what is under way do not read it,
 * because each piece may be followed by one.
 */
function createRequestBody(
  onAdd: () => void,
  limit: KeepLimit,
): {
  add(this: void, chunk: Buffer): void;
  end(this: void): void;
  bytes(): number;
  model(): string | null;
  offersTools(this: void): boolean;
} {
  const kept = createKeptBytes(MAX_BODY_BYTES, limit);
  let bytes = 0;
  let read: ReadBody | null = null;
  return {
    add(chunk) {
      bytes += chunk.length;
      if (read === null) kept.add(chunk);
      onAdd();
    },
    end() {
      if (read !== null) return;
      read = readBody(kept.text());
      kept.clear();
    },
    bytes: () => bytes,
    model: () => read?.model ?? null,
    // Asked when the answer begins, which may be a moment before the end of the request.
    offersTools: () => (read ?? readBody(kept.text())).hasTools,
  };
}

interface ReadBody {
  readonly model: string | null;
  readonly hasTools: boolean;
}

/** What is too long to be kept is no title or summary. */
function readBody(text: string | null): ReadBody {
  const body = text === null ? null : parseJson(text);
  return { model: readUsage(body)?.model ?? null, hasTools: text === null || hasTools(body) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function hasTools(body: unknown): boolean {
  const tools = typeof body === 'object' && body !== null && 'tools' in body ? body.tools : null;
  return Array.isArray(tools) && tools.length > 0;
}

export function plusTokens(left: TokenCounts, right: TokenCounts): TokenCounts {
  return each(left, right, (one, other) => one + other);
}

function minusTokens(left: TokenCounts, right: TokenCounts): TokenCounts {
  return each(left, right, (one, other) => one - other);
}

function each(
  left: TokenCounts,
  right: TokenCounts,
  join: (one: number, other: number) => number,
): TokenCounts {
  return {
    inputTokens: join(left.inputTokens, right.inputTokens),
    outputTokens: join(left.outputTokens, right.outputTokens),
    cacheReadTokens: join(left.cacheReadTokens, right.cacheReadTokens),
    cacheWriteTokens: join(left.cacheWriteTokens, right.cacheWriteTokens),
  };
}

function totalOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: TokenCounts): number {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
}
