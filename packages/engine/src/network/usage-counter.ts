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
import type { ObservedUsage } from './contract.ts';
import { createCountedAnswer, NO_TOKENS, plusTokens, type CountedAnswer } from './counted-answer.ts';
import { createModelStanding, type Outcome } from './model-standing.ts';
import { errorOfStatus, type ModelError } from './read-error.ts';
import type { EarlyStop } from './read-stop.ts';
import type { TokenCounts } from './read-usage.ts';

const MAX_MODELS = 31;

export interface UsageCounter {
  /** A request that a model answers; its path is normalised. */
  ask(path: string): CountedRequest;
  read(): ObservedUsage;
  /** No answer will end any more: what is under way is estimated as it is. */
  close(): void;
  /** Called when an answer begins and when a request has ended. */
  onChange: () => void;
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
}

export function createUsageCounter(clock: Clock): UsageCounter {
  const byModel = new Map<string, TokenCounts>();
  const open = new Set<() => void>();
  const estimated = { answers: 0, inputTokens: 0, outputTokens: 0 };
  const standing = createModelStanding(clock);
  let answers = 0;
  let cut = 0;
  let refusals = 0;
  let lastStop: EarlyStop | null = null;

  const add = (model: string, more: TokenCounts): void => {
    const name = byModel.has(model) || byModel.size < MAX_MODELS ? model : 'other models';
    byModel.set(name, plusTokens(byModel.get(name) ?? NO_TOKENS, more));
  };
  const charge = (answer: CountedAnswer, isWhole: boolean): void => {
    const missing = answer.estimate(isWhole);
    if (missing === null) return;
    const { model, inputTokens, outputTokens } = missing;
    add(model, { ...NO_TOKENS, inputTokens, outputTokens });
    estimated.answers += 1;
    estimated.inputTokens += inputTokens;
    estimated.outputTokens += outputTokens;
  };
  const counter: UsageCounter = {
    onChange: () => undefined,
    read: () => ({
      answers,
      estimated: { ...estimated },
      isWhole: answers > 0 && standing.underWay + cut + estimated.answers === 0,
      refusals,
      lastStop,
      ...standing.read(),
      byModel: [...byModel].map(([model, counts]) => ({ model, ...counts })),
    }),
    close() {
      for (const cutOff of open) cutOff();
    },
    ask(path) {
      const isAlone = standing.underWay === 0; // a side request is no answer to the task
      standing.begin();
      const answer = createCountedAnswer(path, { add, called: standing.called });
      let ordinal: number | null = null;
      let canBeRead = true;
      const end = once((how: AnswerEnd, outcome: Outcome, isCharged: boolean) => {
        open.delete(leave);
        if (isCharged) charge(answer, how === 'whole');
        if (ordinal !== null && how !== 'whole') cut += 1;
        if (answer.stop === 'refusal') refusals += 1;
        if (ordinal !== null && ordinal === answers) lastStop = isAlone ? answer.stop : null;
        standing.end(outcome);
        counter.onChange();
      });
      const fail = (cause: ModelError, detail: string): Outcome => {
        return { kind: 'failed', cause, detail, isForTask: answer.offersTools };
      };
      const leave = (): void => end('left', { kind: 'left' }, true);
      open.add(leave);
      const listener: AnswerListener = {
        hear: answer.hear,
        miss: answer.miss,
        end: (how) => end(how, outcomeOf(how, answer, { canBeRead, fail }), true),
      };
      return {
        send: answer.send,
        // Without an answer this was our own message; a client that disconnected may have left an answer that costs
        // money.
        closed(hasAll) {
          if (hasAll && ordinal === null)
            end('whole', fail('no-connection', 'no answer came from the model'), false);
          else leave();
        },
        answered(status, contentType, isReadable) {
          if (status < 200 || status > 299) {
            end('whole', fail(errorOfStatus(status), `the model answered with HTTP ${status}`), false);
            return null;
          }
          canBeRead = isReadable;
          ordinal = answers += 1;
          lastStop = null;
          counter.onChange();
          return isReadable ? createAnswerReader(contentType, listener) : createBlindReader(listener);
        },
      };
    },
  };
  return counter;
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
