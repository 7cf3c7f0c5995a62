/**
 * The state of a pool, from the ledger (WP2): which workers there are, how often each has called a tool, and whose branch
 * timed out and waits: as in `caisson branches`, until another run has it, or it is drained or dropped. It is read once
 * when the pool starts, and then follows what every process records and publishes.
 */
import { isEnding, type EventEnvelope, type EventType } from '@caisson/protocol';
import type { PoolHouse, Worker } from './contract.ts';
import { KnownWorker } from './known-worker.ts';

const WATCHED: readonly EventType[] = [
  ...([
    'dispatch.accepted',
    'run.queued',
    'repository.fetched',
    'attempt.launched',
    'attempt.ended',
  ] as const),
  ...(['tool.started', 'worker.progress', 'timeout.drained', 'branch.dropped'] as const),
  ...(['dispatch.finished', 'dispatch.failed', 'dispatch.cancelled', 'dispatch.needs_input'] as const),
  ...(['branch.pushed', 'branch.push-failed', 'workspace.removed'] as const),
];

export class PoolView {
  readonly #name: string;
  readonly #onChange: () => void;
  #known = new Map<string, KnownWorker>();
  #timedOut = new Map<string, string>();
  /** Runs under way that continue another one: until they end, it is open where its branch will be. */
  #continuing = new Set<string>();
  /** Taken off the list here; the ledger may not have it yet. */
  readonly #drained = new Set<string>();

  constructor(name: string, onChange: () => void) {
    this.#name = name;
    this.#onChange = onChange;
  }

  /** Workers of all processes, until their branch is pushed. */
  workers(): Worker[] {
    return [...this.#known.values()].filter(({ isQueued }) => !isQueued).map(({ worker }) => worker);
  }

  /** Workers, and tasks that wait for a place of the project. */
  taskCount(): number {
    return this.#known.size;
  }

  has(runId: string): boolean {
    return this.#known.has(runId);
  }

  toolCalls(): number {
    return [...this.#known.values()].reduce((sum, known) => sum + known.toolCalls(), 0);
  }

  /** Branch by run, in the order of their timeouts. */
  timedOut(): ReadonlyMap<string, string> {
    return this.#timedOut;
  }

  /** Nothing is followed any more, so nobody is known to work. */
  forgetWorkers(): void {
    this.#known.clear();
  }

  drained(runId: string): void {
    this.#drained.add(runId);
    this.#timedOut.delete(runId);
  }

  /** Resolves when the state is read; `followed` when it is followed no more. Rejects if it cannot be read. */
  async open(house: PoolHouse, signal: AbortSignal): Promise<{ followed: Promise<void> }> {
    // From before the state is read: what comes twice changes nothing.
    const [newest] = await house.runs({ newestFirst: true, limit: 1 });
    await this.#read(house);
    this.#onChange();
    return { followed: this.#follow(house, newest?.acceptedOffset ?? 0, signal) };
  }

  /** What was known counts until all of it is read: a task that starts meanwhile must not see a free place. */
  async #read(house: PoolHouse): Promise<void> {
    const open = await house.runs({ status: ['queued', 'running'] });
    const ofPool = open.filter(({ worker }) => worker?.pool === this.#name);
    const waiting = await house.branches();
    const pushing = waiting.filter(({ isPushing }) => isPushing === true);
    const known = new Map<string, KnownWorker>();
    for (const { runId } of [...ofPool, ...pushing]) {
      const worker = await readWorker(house, runId, this.#name);
      if (worker !== null) known.set(runId, worker);
    }
    for (const { runId, live } of ofPool) known.get(runId)?.tell(live?.toolCalls ?? 0);
    await this.#readTimedOut(house, waiting);
    this.#known = known;
    this.#continuing = new Set(
      open.flatMap(({ runId, continues }) => (continues === undefined ? [] : [runId])),
    );
  }

  async #readTimedOut(house: PoolHouse, waiting: Awaited<ReturnType<PoolHouse['branches']>>): Promise<void> {
    const ids = waiting.filter(({ status }) => status === 'timeout').map(({ runId }) => runId);
    const rows = ids.length === 0 ? [] : await house.runs({ ids, order: 'ended' });
    this.#timedOut = new Map(
      rows.flatMap(({ runId, worker }) => {
        if (worker?.pool !== this.#name || worker.branch === undefined) return [];
        return worker.drainedAt === undefined && !this.#drained.has(runId) ? [[runId, worker.branch]] : [];
      }),
    );
  }

  async #follow(house: PoolHouse, after: number, signal: AbortSignal): Promise<void> {
    for await (const event of house.follow({ after, types: WATCHED, signal })) {
      this.#apply(event);
      if (this.#mayMoveBranch(event)) await this.#readTimedOut(house, await house.branches());
      if (event.type !== 'tool.started' && event.type !== 'worker.progress') this.#onChange();
    }
  }

  /** A run that continues another one takes its branch over, or ends without it, and gives it back. */
  #mayMoveBranch(event: EventEnvelope): boolean {
    const { runId } = event;
    if (runId === null) return false;
    if (event.type !== 'dispatch.accepted') return isEnding(event) && this.#continuing.delete(runId);
    if (event.continues === undefined) return false;
    this.#continuing.add(runId);
    return this.#timedOut.size > 0;
  }

  /** An event that was counted before changes nothing. */
  #apply(event: EventEnvelope): void {
    const { runId } = event;
    if (runId === null) return;
    if (event.type === 'dispatch.accepted' && event.task.pool === this.#name && !this.#known.has(runId))
      this.#known.set(runId, new KnownWorker(event));
    if (event.type === 'timeout.drained' || event.type === 'branch.dropped') {
      this.#timedOut.delete(runId);
      this.#drained.delete(runId);
    }
    const known = this.#known.get(runId);
    if (known === undefined) return;
    if (known.add(event)) this.#known.delete(runId);
    const { branch } = known.worker.currentTask;
    const isTimeout = event.type === 'dispatch.failed' && event.failure.reason === 'timeout';
    if (isTimeout && event.branch !== undefined && branch !== undefined) this.#timedOut.set(runId, branch);
  }
}

/** Null for a run of no or another pool, and for one that is over. */
async function readWorker(house: PoolHouse, runId: string, pool: string): Promise<KnownWorker | null> {
  let known: KnownWorker | null = null;
  for (const event of await house.events(runId)) {
    if (event.type === 'dispatch.accepted' && event.task.pool === pool) known = new KnownWorker(event);
    if (known?.add(event) === true) return null;
  }
  return known;
}
