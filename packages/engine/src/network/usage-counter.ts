/**
 * Counts what the model's answers say they used, as they pass, and sees how they ended. A lower bound: an
 * answer that was cut, or that names no usage, adds nothing, but it is known that there was one.
 */
import { Transform } from 'node:stream';
import type { ObservedUsage } from './contract.ts';
import { errorOfStatus, readError, type ModelError } from './read-error.ts';
import { MAY_STOP, readStop, type EarlyStop } from './read-stop.ts';
import { readUsage, type TokenCounts } from './read-usage.ts';

const MAX_PIECE_BYTES = 8 * 1024 * 1024;
const MAX_MODELS = 31;
/** Requests that a model answers; not those that list models or count tokens beforehand. */
const ASKS_MODEL = /\/(?:messages|responses(?:\/compact)?|completions)$|:(?:stream)?generateContent$/i;
const NOTHING: TokenCounts = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

export interface UsageCounter {
  /** Null for a request that no model answers. */
  ask(method: string, path: string): CountedRequest | null;
  read(): ObservedUsage;
  /** Called when an answer begins and when it ends. */
  onChange: () => void;
}

export interface CountedRequest {
  /** The answer's head is here. Returns what its decoded body must pass, or null when nothing was charged. */
  answered(status: number, contentType: string): Transform | null;
  /** The client has all that it gets, or went away; where it has all and no answer came, nothing was charged. */
  closed(hasAll: boolean): void;
}

export function createUsageCounter(): UsageCounter {
  const byModel = new Map<string, TokenCounts>();
  let answers = 0;
  let unheard = 0;
  let cut = 0;
  let underWay = 0;
  let refusals = 0;
  let lastStop: EarlyStop | null = null;
  let lastError: ModelError | null = null;

  const add = (model: string, more: TokenCounts): void => {
    const name = byModel.has(model) || byModel.size < MAX_MODELS ? model : 'other models';
    byModel.set(name, plus(byModel.get(name) ?? NOTHING, more));
  };
  const counter: UsageCounter = {
    onChange: () => undefined,
    read: () => ({
      answers,
      unheard,
      isWhole: answers > 0 && unheard + underWay + cut === 0,
      refusals,
      lastStop,
      lastError,
      byModel: [...byModel].map(([model, counts]) => ({ model, ...counts })),
    }),
    ask(method, path) {
      if (method !== 'POST' || !ASKS_MODEL.test(path.split('?', 1)[0] ?? '')) return null;
      unheard += 1; // also while it is under way: a run that is stopped now may have to pay for it
      const isAlone = underWay === 0; // what is asked beside something else is no answer to the task
      underWay += 1;
      let hasAnswer = false;
      const forget = once(() => (unheard -= 1));
      const end = once(() => (underWay -= 1));
      return {
        closed(hasAll) {
          if (hasAll && !hasAnswer) forget();
          end();
        },
        answered(status, contentType) {
          hasAnswer = true;
          if (status < 200 || status > 299) {
            lastError = errorOfStatus(status);
            forget();
            end();
            return null;
          }
          const ordinal = (answers += 1);
          lastStop = null;
          counter.onChange();
          const answer = createAnswer(add, forget);
          return readingStream(contentType, answer.hear, (isWhole) => {
            end();
            if (!isWhole) cut += 1;
            if (answer.stop() === 'refusal') refusals += 1;
            if (ordinal === answers) lastStop = isAlone ? answer.stop() : null;
            lastError = answer.error();
            counter.onChange();
          });
        },
      };
    },
  };
  return counter;
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}

/** The pieces of one answer tell the sum so far, and a later one may know better: what differs is added. */
function createAnswer(
  add: (model: string, more: TokenCounts) => void,
  isHeard: () => void,
): { hear(value: unknown): void; stop(): EarlyStop | null; error(): ModelError | null } {
  let model: string | null = null;
  let told = NOTHING;
  let stop: EarlyStop | null = null;
  let error: ModelError | null = null;
  return {
    stop: () => stop,
    error: () => error,
    hear(value) {
      error ??= readError(value);
      stop ??= readStop(value);
      const piece = readUsage(value);
      if (piece === null) return;
      model ??= piece.model;
      if (piece.counts === null) return;
      const sum = { ...told, ...piece.counts };
      add(model ?? '', minus(sum, told));
      told = sum;
      isHeard();
    },
  };
}

/** Hands every chunk on at once and looks at it afterwards. What is too long to hold is passed over. */
function readingStream(
  contentType: string,
  hear: (value: unknown) => void,
  onEnd: (isWhole: boolean) => void,
): Transform {
  const isStream = contentType.toLowerCase().includes('event-stream');
  const pieces = createPieces(isStream, (piece) => {
    const text = isStream ? piece.replace(/^data:/, '') : piece;
    if ((isStream && text === piece) || !(/usage|"model|"error"/i.test(text) || MAY_STOP.test(text))) return;
    for (const value of parsed(text)) hear(value);
  });
  let isDone = false;
  const finish = (isWhole: boolean): void => {
    if (isDone) return;
    isDone = true;
    pieces.end();
    onEnd(isWhole);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(null, chunk);
      pieces.push(chunk);
    },
    flush(done) {
      finish(true);
      done();
    },
    destroy(error, done) {
      finish(false);
      done(error);
    },
  });
}

function createPieces(
  isByLine: boolean,
  take: (piece: string) => void,
): { push(c: Buffer): void; end(): void } {
  let parts: Buffer[] = [];
  let held = 0;
  const hold = (part: Buffer): void => {
    held += part.length;
    if (held > MAX_PIECE_BYTES) parts = [];
    else parts.push(part);
  };
  const end = (): void => {
    if (held > 0 && held <= MAX_PIECE_BYTES) take(Buffer.concat(parts).toString('utf8'));
    parts = [];
    held = 0;
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(10); isByLine && at !== -1; at = chunk.indexOf(10, from)) {
        hold(chunk.subarray(from, at));
        end();
        from = at + 1;
      }
      hold(chunk.subarray(from));
    },
    end,
  };
}

/** Gemini answers with an array when it is not asked for events. Garbage is the client's to complain about. */
function parsed(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
}

const plus = (left: TokenCounts, right: TokenCounts) => each(left, right, (one, other) => one + other);
const minus = (left: TokenCounts, right: TokenCounts) => each(left, right, (one, other) => one - other);

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
