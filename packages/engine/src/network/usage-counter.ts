/**
 * Counts what the model's answers say they used, as they pass, and remembers how they ended. What an answer did not say,
 * because it was cut off, names no usage or cannot be read, is estimated when it has ended, and known as an estimate.
 */
import type { Transform } from 'node:stream';
import type { Clock } from '@caisson/ground';
import {
  createAnswerReader,
  createBlindReader,
  type AnswerEnd,
  type AnswerListener,
} from './answer-reader.ts';
import type { ModelCall, ObservedUsage } from './contract.ts';
import { createCountedAnswer, NO_TOKENS, plusTokens, type CountedAnswer } from './counted-answer.ts';
import { createModelReach, type ModelReach } from './model-reach.ts';
import { createModelStanding, type Outcome } from './model-standing.ts';
import { errorOfStatus, type ModelError } from './read-error.ts';
import type { EarlyStop } from './read-stop.ts';
import type { TokenCounts } from './read-usage.ts';

const MAX_MODELS = 31;
const MAX_NAME = 200;

export interface UsageCounter {
  /** A request that a model answers; its path is normalised. */
  ask(path: string): CountedRequest;
  read(): ObservedUsage;
  /** No answer will end any more: what is under way is estimated as it is. */
  close(): void;
  /** Called when an answer begins and when a request has ended. */
  onChange: () => void;
  /** Called when a request has ended. */
  onCall: (call: ModelCall) => void;
}

export interface CountedRequest {
  /** A piece of the request's body. */
  send(chunk: Buffer): void;
  /**
   * The answer's head arrived. Returns a stream for its body, or null when nothing was charged. `isReadable`: the body
   * is decoded before.
   */
  answered(status: number, contentType: string, isReadable: boolean): Transform | null;
  /**
   * The client has everything that it gets, or disconnected; if it has everything and no answer came, nothing was
   * charged.
   */
  closed(hasAll: boolean): void;
  connected(): void;
  /** No connection to the model was possible. */
  unreached(why: string): void;
}

/** `redact` removes keys that a server put into its name of the model. */
export function createUsageCounter(
  clock: Clock,
  redact: (text: string) => string = (text) => text,
): UsageCounter {
  const open = new Set<() => void>();
  const tally = new Tally();
  const standing = createModelStanding(clock);
  const reach = createModelReach(clock);
  const counter: UsageCounter = {
    onChange: () => undefined,
    onCall: () => undefined,
    read: () => ({ ...tally.read(standing.underWay), ...standing.read(), unreachedMs: reach.unreachedMs() }),
    close() {
      for (const cutOff of open) cutOff();
    },
    ask(path) {
      const startedMs = clock.monotonicMs();
      const ended = (call: Omit<ModelCall, 'durationMs'>): void => {
        const model = redact(call.model).slice(0, MAX_NAME).toWellFormed();
        counter.onCall({ ...call, model, durationMs: Math.round(clock.monotonicMs() - startedMs) });
        counter.onChange();
      };
      const counting = { tally, standing, reach, startedMs, open, changed: () => counter.onChange(), ended };
      return countRequest(counting, path);
    },
  };
  return counter;
}

/** The sums of what was counted. */
class Tally {
  readonly #byModel = new Map<string, TokenCounts>();
  readonly #estimated = { answers: 0, inputTokens: 0, outputTokens: 0 };
  answers = 0;
  cut = 0;
  refusals = 0;
  /** Which answer to the task began last, and how it stopped. */
  lastForTask: number | null = null;
  lastStop: EarlyStop | null = null;

  add(model: string, more: TokenCounts): void {
    const name = this.#byModel.has(model) || this.#byModel.size < MAX_MODELS ? model : 'other models';
    this.#byModel.set(name, plusTokens(this.#byModel.get(name) ?? NO_TOKENS, more));
  }

  beginForTask(ordinal: number): void {
    this.lastForTask = ordinal;
    this.lastStop = null;
  }

  /** Adds what the answer did not say itself, and returns it. */
  estimate(answer: CountedAnswer, isWhole: boolean): TokenCounts | null {
    const missing = answer.estimate(isWhole);
    if (missing === null) return null;
    const { model, inputTokens, outputTokens } = missing;
    const tokens = { ...NO_TOKENS, inputTokens, outputTokens };
    this.add(model, tokens);
    this.#estimated.answers += 1;
    this.#estimated.inputTokens += inputTokens;
    this.#estimated.outputTokens += outputTokens;
    return tokens;
  }

  read(underWay: number) {
    const { answers, cut, refusals, lastStop } = this;
    return {
      answers,
      estimated: { ...this.#estimated },
      isWhole: answers > 0 && underWay + cut + this.#estimated.answers === 0,
      refusals,
      lastStop,
      byModel: [...this.#byModel].map(([model, counts]) => ({ model, ...counts })),
    };
  }
}

interface Counting {
  readonly tally: Tally;
  readonly standing: ReturnType<typeof createModelStanding>;
  readonly reach: ModelReach;
  readonly startedMs: number;
  /** What ends each request that is under way. */
  readonly open: Set<() => void>;
  changed(): void;
  ended(call: Omit<ModelCall, 'durationMs'>): void;
}

function countRequest(counting: Counting, path: string): CountedRequest {
  const { tally, standing, reach, startedMs, open, changed, ended } = counting;
  const isAlone = standing.underWay === 0;
  standing.begin();
  const add = (model: string, more: TokenCounts): void => tally.add(model, more);
  const answer = createCountedAnswer(path, { add, called: standing.called });
  let ordinal: number | null = null;
  let canBeRead = true;
  let problem = 'no answer came from the model';
  // What is asked beside something else is for the task if it offers tools: a title or a summary offers none.
  const isForTask = (): boolean => isAlone || answer.offersTools();
  const end = once((how: AnswerEnd, outcome: Outcome, isCharged: boolean) => {
    open.delete(leave);
    const estimate = isCharged ? tally.estimate(answer, how === 'whole') : null;
    if (ordinal !== null && how !== 'whole') tally.cut += 1;
    if (answer.stop === 'refusal') tally.refusals += 1;
    if (ordinal !== null && ordinal === tally.lastForTask) tally.lastStop = answer.stop;
    standing.end(outcome);
    ended(describeCall(answer, estimate, outcome));
  });
  const fail = (cause: ModelError, detail: string): Outcome => {
    return { kind: 'failed', cause, detail, isForTask: answer.offersTools };
  };
  const leave = (): void => end('left', { kind: 'left' }, true);
  open.add(leave);
  const listener: AnswerListener = {
    receive: answer.receive,
    miss: answer.miss,
    end: (how) => end(how, outcomeOf(how, answer, { canBeRead, fail }), true),
  };
  return {
    send: answer.send,
    connected: reach.connected,
    unreached(why) {
      reach.unreached(startedMs);
      problem = `the model could not be reached: ${why}`;
    },
    // Without an answer these were our own words; a client that went away may have left one to be paid for.
    closed(hasAll) {
      if (hasAll && ordinal === null) end('whole', fail('no-connection', problem), false);
      else leave();
    },
    answered(status, contentType, isReadable) {
      if (status < 200 || status > 299) {
        end('whole', fail(errorOfStatus(status), `the model answered with HTTP ${status}`), false);
        return null;
      }
      canBeRead = isReadable;
      ordinal = tally.answers += 1;
      if (isForTask()) tally.beginForTask(ordinal);
      changed();
      return isReadable ? createAnswerReader(contentType, listener) : createBlindReader(listener);
    },
  };
}

function describeCall(
  { model, said }: CountedAnswer,
  estimate: TokenCounts | null,
  outcome: Outcome,
): Omit<ModelCall, 'durationMs'> {
  return {
    model,
    tokens: estimate === null ? said : plusTokens(said, estimate),
    ...(estimate === null ? {} : { isEstimate: true }),
    outcome: outcome.kind,
    ...(outcome.kind === 'failed' ? { detail: outcome.detail } : {}),
  };
}

function outcomeOf(
  how: AnswerEnd,
  { error, calls, isEmpty, offersTools }: CountedAnswer,
  { canBeRead, fail }: { canBeRead: boolean; fail: (cause: ModelError, detail: string) => Outcome },
): Outcome {
  if (how === 'left') return { kind: 'left' };
  if (error !== null) return fail(error, 'the model ended its answer with an error');
  if (how === 'cut') return fail('stream-cut', 'the answer of the model was cut off');
  return isEmpty && canBeRead ? { kind: 'empty' } : { kind: 'answered', calls, isForTask: offersTools };
}

function once<A extends unknown[]>(work: (...values: A) => void): (...values: A) => void {
  let isDone = false;
  return (...values) => {
    if (!isDone) work(...values);
    isDone = true;
  };
}
