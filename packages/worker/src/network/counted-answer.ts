/** One request to a model and its answer: what it used, by its own word or by an estimate, and which tools it called. */
import type { EarlyStop, ModelError, TokenCounts } from '@caisson/protocol';
import { tokensInBackground, tokensOfBytes, tokensOfPiece } from './estimate-usage.ts';
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

/** `path` names the model in Gemini's requests. */
export function createCountedAnswer(path: string, counts: AnswerCounts): CountedAnswer {
  const request = createRequestBody(counts.sent);
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

/** Kept until it is known whether the answer names its model: a request of many megabytes is only counted. */
function createRequestBody(onAdd: () => void): {
  add(this: void, chunk: Buffer): void;
  bytes(): number;
  model(): string | null;
  offersTools(this: void): boolean;
} {
  /** One buffer that grows: chunks of one byte each would take a hundred times their size. */
  let kept = Buffer.alloc(0);
  let bytes = 0;
  let read: { bytes: number; model: string | null; hasTools: boolean } | null = null;
  /** Parsed once as long as nothing is added. */
  const look = (): { model: string | null; hasTools: boolean } => {
    if (read?.bytes === bytes) return read;
    const body = parseJson(kept.subarray(0, bytes));
    read = { bytes, model: readUsage(body)?.model ?? null, hasTools: hasTools(body) };
    return read;
  };
  return {
    add(chunk) {
      const end = bytes + chunk.length;
      kept = end > MAX_BODY_BYTES ? Buffer.alloc(0) : withRoom(kept, bytes, end);
      if (kept.length > 0) chunk.copy(kept, bytes);
      bytes = end;
      onAdd();
    },
    bytes: () => bytes,
    model: () => look().model,
    // What is too long to be kept is no title or summary.
    offersTools: () => bytes > MAX_BODY_BYTES || look().hasTools,
  };
}

function withRoom(kept: Buffer<ArrayBuffer>, used: number, size: number): Buffer<ArrayBuffer> {
  if (size <= kept.length) return kept;
  const larger = Buffer.allocUnsafe(Math.min(MAX_BODY_BYTES, Math.max(size, 2 * kept.length, 4096)));
  kept.copy(larger, 0, 0, used);
  return larger;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
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
