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
  PoolRun,
  PoolTask,
  Worker,
  WorkerPoolConfig,
  WorkerPoolDeps,
} from './contract.ts';
import { PoolStoppedError, WorkerError, WorkerFailedError, type WorkerPlace } from './errors.ts';
import { judgeEnding } from './judge-ending.ts';
import { keepView } from './keep-view.ts';
import { createListeners } from './listeners.ts';
import { PoolView } from './pool-view.ts';

interface OpenPool {
  readonly house: PoolHouse;
  readonly prompt: string | undefined;
}

interface OwnWorker {
  readonly worker: Worker;
  run: PoolRun | null;
  isCancelled: boolean;
}

/** A pool of ephemeral workers (contract.ts). The library exports it with the opening of a project. */
export class WorkerPool {
  readonly #config: WorkerPoolConfig;
  readonly #prompt: string;
  readonly #deps: WorkerPoolDeps;
  readonly #view: PoolView;
  readonly #completed;
  readonly #failed;
  /** What this process has started, or is about to. */
  readonly #own = new Set<OwnWorker>();
  readonly #assigned = new Set<Promise<unknown>>();
  readonly #drains = new Set<Promise<unknown>>();
  readonly #waiting = new Set<() => void>();
  #opening: Promise<OpenPool> | null = null;
  #stopping: Promise<void> | null = null;
  #stop = new AbortController();
  #concurrency: number | null = null;

  constructor(config: WorkerPoolConfig, workerPrompt: string, deps: WorkerPoolDeps) {
    checkConfig(config);
    this.#config = config;
    this.#prompt = workerPrompt;
    this.#deps = deps;
    this.#completed = createListeners<[Handoff]>(deps.log);
    this.#failed = createListeners<[string, Error]>(deps.log);
    this.#view = new PoolView(config.name ?? DEFAULT_POOL_NAME, () => this.#wake());
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
    const free = Math.max(0, this.getLimit().workers - this.getWorkerCount());
    return Array.from({ length: free }, (_, index) => ({ id: `slot-${index + 1}` }));
  }

  /** Workers of all processes that work for this pool. */
  getAllWorkers(): Worker[] {
    const known = this.#view.workers();
    const unseen = [...this.#own].filter(({ run }) => run === null || !known.has(run.runId));
    return [...known.values(), ...unseen.map(({ worker }) => worker)];
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
      const recorded = this.#recordDrained(runId).finally(() => this.#drains.delete(recorded));
      this.#drains.add(recorded);
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

  async #end(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    for (const own of this.#own) {
      own.isCancelled = true;
      own.run?.cancel();
    }
    await Promise.allSettled([...this.#assigned]);
    await Promise.allSettled([...this.#drains]);
    const opening = this.#opening;
    this.#opening = null;
    this.#stop = new AbortController();
    await opening?.then(({ house }) => house.close()).catch(() => undefined);
  }

  async #open(): Promise<OpenPool> {
    const { cwd } = this.#config;
    const house = await this.#deps.open(cwd === undefined ? {} : { cwd });
    try {
      const prompt = await readPrompt(this.#prompt, cwd ?? house.config.projectRoot);
      this.#concurrency = house.config.limits.concurrency;
      await keepView(this.#view, house, this.#stop.signal, this.#deps);
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
      const at = { ...place, runId: run.runId };
      const { workerTimeout = DEFAULT_WORKER_TIMEOUT_S } = this.#config;
      const result = await awaitEnd(run, at, workerTimeout, this.#deps);
      return judgeEnding(at, result, request.push === true);
    } finally {
      this.#own.delete(own);
      this.#wake();
    }
  }

  /** The limit of the project is the ledger's business: beyond it a run is queued. */
  async #takeTurn(task: PoolTask, place: WorkerPlace): Promise<OwnWorker> {
    const { maxWorkers = DEFAULT_MAX_WORKERS } = this.#config;
    const { signal } = this.#stop;
    while (!signal.aborted && this.getWorkerCount() >= maxWorkers)
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    if (signal.aborted) throw stopped(place);
    const worker = { id: `ephemeral-${task.id}`, currentTask: task, startedAt: this.#deps.now() };
    const own = { worker, run: null, isCancelled: false };
    this.#own.add(own);
    return own;
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
