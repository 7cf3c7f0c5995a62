import type { EarlyStop, TokenCounts } from '@caisson/protocol';
import { NO_TOKENS, plusTokens, type CountedAnswer } from './counted-answer.ts';

const MAX_MODELS = 31;

/** The sums of what was counted. */
export class Tally {
  readonly #tidy: (text: string) => string;
  readonly #byModel = new Map<string, TokenCounts>();
  readonly #estimated = { answers: 0, inputTokens: 0, outputTokens: 0 };
  answers = 0;
  cut = 0;
  refusals = 0;
  /** Which answer to the task began last, and how it stopped. */
  lastForTask: number | null = null;
  lastStop: EarlyStop | null = null;

  /** `tidy` removes secrets from the name of a model. */
  constructor(tidy: (text: string) => string) {
    this.#tidy = tidy;
  }

  add(model: string, more: TokenCounts): void {
    const tidied = this.#tidy(model);
    const name = this.#byModel.has(tidied) || this.#byModel.size < MAX_MODELS ? tidied : 'other models';
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
