/** What this process has started, or is about to. */
import type { PoolRun, PoolTask, Worker } from './contract.ts';

export interface OwnWorker {
  readonly worker: Worker;
  run: PoolRun | null;
  isCancelled: boolean;
  /** The ledger has had it; what that says of it counts. */
  isSeen: boolean;
}

export class OwnWorkers {
  readonly #own = new Set<OwnWorker>();

  add(currentTask: PoolTask, startedAt: number): OwnWorker {
    const worker = { id: `ephemeral-${currentTask.id}`, currentTask, startedAt };
    const own = { worker, run: null, isCancelled: false, isSeen: false };
    this.#own.add(own);
    return own;
  }

  delete(own: OwnWorker): void {
    this.#own.delete(own);
  }

  cancelAll(): void {
    for (const own of this.#own) {
      own.isCancelled = true;
      own.run?.cancel();
    }
  }

  /** Those that `view` does not have now: it has them not yet, or their files are still being removed. */
  countBeside(view: { has(runId: string): boolean }): number {
    return [...this.#own].filter(({ run }) => run === null || !view.has(run.runId)).length;
  }

  /** Those that the ledger, as far as it was followed, has not had yet. */
  listUnseen(view: { has(runId: string): boolean }): OwnWorker[] {
    for (const own of this.#own) own.isSeen ||= own.run !== null && view.has(own.run.runId);
    return [...this.#own].filter(({ isSeen }) => !isSeen);
  }
}
