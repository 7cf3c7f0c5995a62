/**
 * Counts what the model's answers say they used, as they pass, and sees how they ended. What an answer did not say,
 * because it was cut off, names no usage or cannot be read, is estimated when it has ended, and known as an estimate.
 */
import type { Transform } from 'node:stream';
import { createAnswerReader, createBlindReader, type AnswerListener } from './answer-reader.ts';
import type { ObservedUsage } from './contract.ts';
import { createCountedAnswer, NO_TOKENS, plusTokens, type CountedAnswer } from './counted-answer.ts';
import { errorOfStatus, type ModelError } from './read-error.ts';
import type { EarlyStop } from './read-stop.ts';
import type { TokenCounts } from './read-usage.ts';

const MAX_MODELS = 31;

export interface UsageCounter {
  /** A request that a model answers; its path is normalised. */
  ask(path: string): CountedRequest;
  read(): ObservedUsage;
  /** No answer comes to its end any more: what is under way is estimated as it stands. */
  close(): void;
  /** Called when an answer begins and when it ends. */
  onChange: () => void;
}

export interface CountedRequest {
  /** A piece of the request's body. */
  send(chunk: Buffer): void;
  /**
   * The answer's head is here. Returns what its body must pass, or null when nothing was charged. `isReadable`: the
   * body is decoded before.
   */
  answered(status: number, contentType: string, isReadable: boolean): Transform | null;
  /** The client has all that it gets, or went away; where it has all and no answer came, nothing was charged. */
  closed(hasAll: boolean): void;
}

export function createUsageCounter(): UsageCounter {
  const byModel = new Map<string, TokenCounts>();
  const open = new Set<() => void>();
  const estimated = { answers: 0, inputTokens: 0, outputTokens: 0 };
  let answers = 0;
  let cut = 0;
  let underWay = 0;
  let refusals = 0;
  let lastStop: EarlyStop | null = null;
  let lastError: ModelError | null = null;

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
      underWay,
      estimated: { ...estimated },
      isWhole: answers > 0 && underWay + cut + estimated.answers === 0,
      refusals,
      lastStop,
      lastError,
      byModel: [...byModel].map(([model, counts]) => ({ model, ...counts })),
    }),
    close() {
      for (const cutOff of open) cutOff();
    },
    ask(path) {
      const isAlone = underWay === 0; // what is asked beside something else is no answer to the task
      underWay += 1;
      const answer = createCountedAnswer(path, add);
      let ordinal: number | null = null;
      const end = once((isCharged: boolean, isWhole: boolean) => {
        underWay -= 1;
        open.delete(cutOff);
        if (isCharged) charge(answer, isWhole);
        if (ordinal === null) return;
        if (!isWhole) cut += 1;
        if (answer.stop === 'refusal') refusals += 1;
        if (ordinal === answers) lastStop = isAlone ? answer.stop : null;
        lastError = answer.error;
        counter.onChange();
      });
      const cutOff = (): void => end(true, false);
      open.add(cutOff);
      const listener: AnswerListener = {
        hear: answer.hear,
        miss: answer.miss,
        end: (isWhole) => end(true, isWhole),
      };
      return {
        send: answer.send,
        // Without an answer these were our own words; a client that went away may have left one to be paid for.
        closed: (hasAll) => end(!hasAll || ordinal !== null, false),
        answered(status, contentType, isReadable) {
          if (status < 200 || status > 299) {
            lastError = errorOfStatus(status);
            end(false, true);
            return null;
          }
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

function once<A extends unknown[]>(work: (...values: A) => void): (...values: A) => void {
  let isDone = false;
  return (...values) => {
    if (!isDone) work(...values);
    isDone = true;
  };
}
