import type { DispatchRequest, Handoff } from '@caisson/protocol';
import { awaitEnd } from './await-end.ts';
import { checkTask, nameOf } from './check-task.ts';
import {
  branchOf,
  checkConfig,
  composeRequest,
  DEFAULT_MAX_WORKERS,
  DEFAULT_POOL_NAME,
  DEFAULT_WORKER_TIMEOUT_S,
  readPrompt,
} from './compose-request.ts';
import type {
  CompleteListener,
  FailedListener,
  ParentSpan,
  PoolHouse,
  PoolTask,
  Worker,
  WorkerPoolConfig,
  WorkerPoolDeps,
} from './contract.ts';
import { PoolStoppedError, WorkerError, WorkerFailedError, type WorkerPlace } from './errors.ts';
import { judgeEnding } from './judge-ending.ts';
import { keepView } from './keep-view.ts';
import { createListeners } from './listeners.ts';
import { OwnWorkers, type OwnWorker } from './own-workers.ts';
import { PoolView } from './pool-view.ts';
import { reportPhases } from './report-phases.ts';

interface OpenPool {
  readonly house: PoolHouse;
  readonly prompt: string | undefined;
}

/** A pool of ephemeral workers (contract.ts). The library exports it with the opening of a project. */
export class WorkerPool {
  readonly #config: WorkerPoolConfig;
  readonly #prompt: string;
  readonly #deps: WorkerPoolDeps;
  readonly #view: PoolView;
  readonly #completed;
  readonly #failed;
  readonly #own = new OwnWorkers();
  readonly #assigned = new Set<Promise<unknown>>();
  /** What is still recorded or told after that. */
  readonly #later = new Set<Promise<unknown>>();
  readonly #waiting = new Set<() => void>();
  #opening: Promise<OpenPool> | null = null;
  #stopping: Promise<void> | null = null;
  #stop = new AbortController();
  #following = new AbortController();
  #concurrency: number | null = null;

  constructor(config: WorkerPoolConfig, workerPrompt: string, deps: WorkerPoolDeps) {
    checkConfig(config);
    this.#config = config;
    this.#prompt = workerPrompt;
    this.#deps = deps;
    this.#completed = createListeners<[Handoff]>(deps.log);
    this.#failed = createListeners<[string, Error]>(deps.log);
    this.#view = new PoolView(config.name ?? DEFAULT_POOL_NAME, () => {
      this.#own.listUnseen(this.#view);
      this.#wake();
    });
  }

  /** Reads the pool's state; `assignTask` does that, too. */
  async start(): Promise<void> {
    this.#stopping = null;
    await (this.#opening ??= this.#open());
  }

  /** Stops every worker that this pool started, keeps their work, and resolves when they are gone. Idempotent. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#end());
  }

  /** Gives the task to a worker of its own; resolves with its checked hand-off, or rejects with a {@link WorkerError}. */
  assignTask(task: PoolTask, parentSpan?: ParentSpan): Promise<Handoff> {
    const assigned = this.#assign(task, parentSpan).finally(() => this.#assigned.delete(assigned));
    this.#assigned.add(assigned);
    return assigned;
  }

  /** One for each task that could be started now. */
  getAvailableWorkers(): { id: string }[] {
    const free = Math.max(0, this.getLimit().workers - this.#countTaken());
    return Array.from({ length: free }, (_, index) => ({ id: `slot-${index + 1}` }));
  }

  /** Workers of all processes that work for this pool; a task that waits for its place has none yet. */
  getAllWorkers(): Worker[] {
    const unseen = this.#own.listUnseen(this.#view).filter(({ run }) => run !== null);
    return [...this.#view.workers(), ...unseen.map(({ worker }) => worker)];
  }

  getWorkerCount(): number {
    return this.getAllWorkers().length;
  }

  getActiveTaskCount(): number {
    return this.getWorkerCount();
  }

  getTotalActiveToolCalls(): number {
    return this.#view.toolCalls();
  }

  getTimedOutBranches(): string[] {
    return [...this.#view.timedOut().values()];
  }

  /** Returns the branches and takes them off the list, in the ledger, too; `stop` waits for that. */
  drainTimedOutBranches(): string[] {
    const drained = [...this.#view.timedOut()];
    for (const [runId] of drained) {
      this.#view.drained(runId);
      this.#awaitLater(this.#recordDrained(runId));
    }
    return drained.map(([, branch]) => branch);
  }

  onTaskComplete(listener: CompleteListener): void {
    this.#completed.add(listener);
  }

  onWorkerFailed(listener: FailedListener): void {
    this.#failed.add(listener);
  }

  /** How many workers there may be at once, and what limits them. The project's limit is known once it is started. */
  getLimit(): { workers: number; by: 'maxWorkers' | 'limits.concurrency' } {
    const { maxWorkers = DEFAULT_MAX_WORKERS } = this.#config;
    const concurrency = this.#concurrency ?? Infinity;
    return concurrency < maxWorkers
      ? { workers: concurrency, by: 'limits.concurrency' }
      : { workers: maxWorkers, by: 'maxWorkers' };
  }

  /** Workers, tasks that are about to have one, and what is being cleaned up. */
  #countTaken(): number {
    return this.#view.taskCount() + this.#own.countBeside(this.#view);
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    this.#own.cancelAll();
    await Promise.allSettled([...this.#assigned]);
    await Promise.allSettled([...this.#later]);
    const opening = this.#opening;
    this.#opening = null;
    this.#stop = new AbortController();
    this.#following.abort();
    this.#following = new AbortController();
    this.#view.forgetWorkers();
    await opening?.then(({ house }) => house.close()).catch(() => undefined);
  }

  async #open(): Promise<OpenPool> {
    const { cwd } = this.#config;
    const house = await this.#deps.open(cwd === undefined ? {} : { cwd });
    try {
      const prompt = await readPrompt(this.#prompt, cwd ?? house.config.projectRoot);
      this.#concurrency = house.config.limits.concurrency;
      await keepView(this.#view, house, this.#following.signal, this.#deps);
      const { workers, by } = this.getLimit();
      this.#deps.log(`Worker pool ready (ephemeral mode): at most ${workers} at once, by ${by}`);
      return { house, prompt };
    } catch (error) {
      this.#opening = null;
      await house.close();
      throw error;
    }
  }

  async #assign(task: PoolTask, span: ParentSpan | undefined): Promise<Handoff> {
    let place: WorkerPlace = { taskId: nameOf(task), branch: '' };
    try {
      checkTask(task, place);
      place = { ...place, branch: branchOf(task) };
      if (this.#stopping !== null) throw stopped(place);
      const { house, prompt } = await (this.#opening ??= this.#open());
      const request = composeRequest(this.#config, task, { prompt, span });
      const handoff = await this.#carryOut(house, task, request, place);
      this.#completed.call(handoff);
      return handoff;
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      const error = cause instanceof WorkerError ? cause : new WorkerFailedError(place, message, { cause });
      this.#failed.call(place.taskId, error);
      throw error;
    }
  }

  async #carryOut(
    house: PoolHouse,
    task: PoolTask,
    request: DispatchRequest,
    place: WorkerPlace,
  ): Promise<Handoff> {
    const own = await this.#takeTurn(task, place);
    try {
      const run = await (this.#deps.dispatch ?? house.dispatch)(request);
      own.run = run;
      if (own.isCancelled) run.cancel();
      this.#awaitLater(reportPhases(run, task.id, this.#deps.log));
      const at = { ...place, runId: run.runId };
      const { workerTimeout = DEFAULT_WORKER_TIMEOUT_S } = this.#config;
      const result = await awaitEnd(run, at, workerTimeout, this.#deps);
      return judgeEnding(at, result, request.push === true);
    } finally {
      this.#own.delete(own);
      this.#wake();
    }
  }

  #awaitLater(work: Promise<void>): void {
    const later = work.finally(() => this.#later.delete(later));
    this.#later.add(later);
  }

  /** The limit of the project is the ledger's business: beyond it a run is queued. */
  async #takeTurn(task: PoolTask, place: WorkerPlace): Promise<OwnWorker> {
    const { maxWorkers = DEFAULT_MAX_WORKERS } = this.#config;
    const { signal } = this.#stop;
    while (!signal.aborted && this.#countTaken() >= maxWorkers)
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    if (signal.aborted) throw stopped(place);
    return this.#own.add(task, this.#deps.now());
  }

  async #recordDrained(runId: string): Promise<void> {
    try {
      await (await this.#opening)?.house.drain(runId);
    } catch (error) {
      this.#deps.log(`${runId} is still listed as timed out: ${(error as Error).message}`);
    }
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resume of waiting) resume();
  }
}

const stopped = (place: WorkerPlace): PoolStoppedError => new PoolStoppedError(place, 'the pool is stopped');
