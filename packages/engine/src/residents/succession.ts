/**
 * How a changed plan gets the work of a key. Beside the worker that has it there is either a _trial_ of the changed plan, or
 * old workers, which are _leaving_.
 *
 * KW1  A trial gets the work when all files load that loaded before; otherwise it is ended, and its plan is not tried again
 *      before a reset. One that ends by itself is tried again after a delay, up to the crash limit.
 * KW2  When the worker ends while a trial is under way, the trial takes its place.
 * KW3  There is no trial while one is leaving: changes that come faster than workers start are tried together.
 */
import type { ResidentEnding } from '@caisson/protocol';
import type { ResidentPlan } from './contract.ts';
import { describeEnding, describeRefusal, type Problems } from './describe-problems.ts';
import type { LiveWorker } from './live-worker.ts';

const NONE: Problems = new Map();
const NOBODY: readonly LiveWorker[] = [];

/** How a trial that ended by itself is tried again. */
export interface Retries {
  readonly limit: number;
  /** Calls back after the delay; returns a cancel. */
  wait(onOver: () => void): () => void;
  goOn(): void;
}

export class Succession {
  #trial: LiveWorker | null = null;
  #leaving: readonly LiveWorker[] = NOBODY;
  #refused: { readonly digest: string; readonly problems: Problems } | null = null;
  /** Trials of the newest plan that ended by themselves. */
  #crashes = 0;
  #cancelRetry: (() => void) | null = null;

  /** The one that gets the work, if there is one, and those beside it. */
  workers(present: LiveWorker | null): LiveWorker[] {
    return [present, this.#trial, ...this.#leaving].filter((worker) => worker !== null);
  }

  /** Why the newest version is not the one that works. */
  get problems(): Problems {
    return this.#refused?.problems ?? NONE;
  }

  /** Whether one that does no more work is still there. */
  get isClearing(): boolean {
    return this.#leaving.some(({ isKilled }) => isKilled);
  }

  isTrial(worker: LiveWorker): boolean {
    return worker === this.#trial;
  }

  /** There is a newer plan, or a person wants the refused one to be tried again. */
  forgetRefusal(): void {
    this.#refused = null;
    this.#crashes = 0;
    this.#endRetry();
  }

  #endRetry(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = null;
  }

  /** Starts a trial if the worker serves another plan. */
  consider(worker: LiveWorker, plan: ResidentPlan, launch: () => LiveWorker): void {
    const isSettled = worker.plan.digest === plan.digest || this.#refused?.digest === plan.digest;
    if (this.#cancelRetry !== null) return;
    if (!isSettled && this.#trial === null && this.#leaving.length === 0) this.#trial = launch(); // KW3
  }

  /** KW1: the problems of a trial that is refused; null for one that takes over. */
  judge(trial: LiveWorker, old: LiveWorker | null): Problems | null {
    const broken = new Map([...trial.problems].filter(([name]) => loads(old, name)));
    if (broken.size === 0) {
      this.#trial = null;
      this.#crashes = 0;
      return null;
    }
    this.#refused = { digest: trial.plan.digest, problems: broken };
    trial.kill(describeRefusal(broken));
    return broken;
  }

  leave(worker: LiveWorker | null): void {
    if (worker !== null && !this.#leaving.includes(worker)) this.#leaving = [...this.#leaving, worker];
  }

  /** KW2. */
  takeTrial(): LiveWorker | null {
    const trial = this.#trial;
    if (trial === null || trial.isKilled) return null;
    this.#trial = null;
    return trial;
  }

  endTrial(): void {
    this.#endRetry();
    this.#trial?.kill();
  }

  /** Forgets one of its own that has ended; the problems of a trial that ended by itself too often. */
  forget(worker: LiveWorker, ending: ResidentEnding, { limit, wait, goOn }: Retries): Problems | null {
    this.#leaving = this.#leaving.filter((other) => other !== worker);
    if (worker !== this.#trial) return null;
    this.#trial = null;
    if (worker.isEndAsked) return null;
    this.#crashes += 1;
    if (this.#crashes < limit) {
      this.#cancelRetry = wait(() => {
        this.#cancelRetry = null;
        goOn();
      });
      return null;
    }
    const problem = `the changed version ended (${describeEnding(ending)})`;
    const problems = new Map(worker.plan.modules.map(({ name }) => [name, problem]));
    this.#refused = { digest: worker.plan.digest, problems };
    return problems;
  }
}

function loads(worker: LiveWorker | null, name: string): boolean {
  const isServed = worker?.plan.modules.some((module) => module.name === name) ?? false;
  return isServed && worker?.problems.has(name) === false && !worker.isLoading(name);
}
