/**
 * The turn that a thread has now. While it only waits for steps it can be parked: it is given up, so that it needs no worker, and
 * made again when a step is over.
 */
import type { Clock } from '@caisson/ground';
import { pause } from '../platform/index.ts';
import type { RunningTurn, TurnOutcome } from './contract.ts';
import type { StepLine } from './work.ts';

/** How a turn went. `none`: without an outcome; its thread looks again. */
export type TurnResult = TurnOutcome | { readonly kind: 'none' };
export const NONE: TurnResult = { kind: 'none' };

/** Beyond the grace, before a worker that does not answer is not waited for any longer. */
const GRACE_MARGIN_MS = 1000;

export class CurrentTurn {
  #turn: RunningTurn | null = null;
  #givenUp = Promise.withResolvers<TurnResult>();
  #isParked = false;
  #isAnswered = false;
  #stopListening = (): void => undefined;

  get isUnderWay(): boolean {
    return this.#turn !== null;
  }

  get isParked(): boolean {
    return this.#isParked;
  }

  /** Whether a step was over since it began. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** Resolves when it is over or given up; `forget` follows. */
  begin(
    start: (onStep: (step: StepLine) => void) => RunningTurn,
    onStep: (step: StepLine) => void,
  ): Promise<TurnResult> {
    this.#givenUp = Promise.withResolvers<TurnResult>();
    this.#isParked = false;
    this.#isAnswered = false;
    let isCurrent = true;
    this.#stopListening = () => void (isCurrent = false);
    this.#turn = start((step) => {
      if (isCurrent) onStep(step);
    });
    return Promise.race([this.#turn.outcome, this.#givenUp.promise]);
  }

  /** Steps that it asks for from here on have no effect. */
  forget(): void {
    this.#stopListening();
    this.#turn = null;
  }

  park(): void {
    if (this.#turn === null) return;
    this.#isParked = true;
    this.giveUp();
    this.#turn.abandon('it waits without a worker', 0); // the role is not told: its steps are not over
  }

  /** A step is over: the role gets its outcome, or a parked turn is to be made again. */
  answer(...answer: Parameters<RunningTurn['answerStep']>): void {
    this.#isAnswered = true;
    if (this.#isParked) this.#isParked = false;
    else this.#turn?.answerStep(...answer);
  }

  /** It is not waited for any longer. */
  giveUp(): void {
    this.#givenUp.resolve(NONE);
  }

  /** Asks the role to end. Resolves when it has, at the latest after its grace. */
  async end(clock: Clock, why: string, graceMs: number, signal: AbortSignal): Promise<void> {
    const turn = this.#turn;
    if (turn === null) return;
    const over = new AbortController();
    const isOver = AbortSignal.any([over.signal, signal]);
    turn.abandon(why);
    await Promise.race([turn.outcome, pause(clock, graceMs + GRACE_MARGIN_MS, isOver)]);
    over.abort();
  }
}
