/** The work of one key that no worker has yet, in its order. */
import type { ResidentPlan } from './contract.ts';
import { describeProblems, type Problems } from './describe-problems.ts';
import { findRefusal, type KeyState } from './key-state.ts';
import type { LiveWorker } from './live-worker.ts';
import { failWork, WITHDRAWN, type Refusal, type Work } from './work.ts';

/** A key, as its work sees it. */
interface Taker {
  readonly closed: Refusal | null;
  readonly plan: ResidentPlan;
  readonly state: KeyState;
}

export class WaitingWork {
  #works: Work[] = [];

  get size(): number {
    return this.#works.length;
  }

  /** True when it was given to the worker, or refused; otherwise it waits. `refused`: problems of the version that was tried last. */
  offer({ closed, plan, state }: Taker, work: Work, refused: Problems): boolean {
    const refusal = closed ?? (isServed(plan, work) ? findRefusal(state) : WITHDRAWN);
    if (refusal !== null) failWork(work, refusal);
    else if (state.kind !== 'ready' || !giveWork(state.worker, work, refused)) {
      this.#works.push(work);
      return false;
    }
    return true;
  }

  /** All of it, to be offered again. */
  takeAll(): Work[] {
    return this.#works.splice(0);
  }

  /** Nobody wants it any more. Without effect on what does not wait. */
  abandon(work: Work, why: string): void {
    const index = this.#works.indexOf(work);
    if (index === -1) return;
    this.#works.splice(index, 1);
    failWork(work, { failure: { kind: 'aborted', detail: why } });
  }

  refuseAll(why: Refusal): void {
    for (const work of this.takeAll()) failWork(work, why);
  }
}

/** A sense may be moved to another group while its work waits. */
function isServed({ modules }: ResidentPlan, work: Work): boolean {
  return work.kind === 'turn' || modules.some(({ name }) => name === work.order.name);
}

/** A file that could not be loaded gets no work, the others of its group do. False while it is being loaded, or tried in another worker. */
function giveWork(worker: LiveWorker, work: Work, refused: Problems): boolean {
  const name = work.kind === 'compute' ? work.order.name : (worker.plan.modules[0]?.name ?? '');
  const isKnown = isServed(worker.plan, work);
  if (isKnown ? worker.isLoading(name) : refused.size === 0) return false;
  const problem = isKnown ? worker.problems.get(name) : describeProblems(refused).detail;
  if (problem === undefined) worker.give(work);
  else failWork(work, { failure: { kind: 'invalid', detail: problem }, dropped: 'blocked' });
  return true;
}
