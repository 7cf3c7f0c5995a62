/**
 * The state of a pool, from the ledger (WP2): which workers there are, how often each has called a tool, and whose branch
 * timed out and waits: as in `caisson branches`, until another run continues it, or it is drained or dropped. It is read once
 * when the pool starts, and then follows what every process records and publishes.
 */
import type { EventEnvelope, EventType } from '@caisson/protocol';
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
  readonly #known = new Map<string, KnownWorker>();
  readonly #timedOut = new Map<string, string>();

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

  async #read(house: PoolHouse): Promise<void> {
    this.#known.clear();
    this.#timedOut.clear();
    const rows = await house.runs({ status: ['queued', 'running', 'timeout'] });
    for (const { runId, status, worker, waitingBranch, live } of rows) {
      if (worker?.pool !== this.#name) continue;
      if (status !== 'timeout') await this.#readWorker(house, runId, live?.toolCalls);
      else if (waitingBranch !== undefined && worker.drainedAt === undefined && worker.branch !== undefined)
        if ((await house.runs({ continues: runId, limit: 1 })).length === 0)
          this.#timedOut.set(runId, worker.branch);
    }
    for (const { runId, push } of await house.branches())
      if (push?.status === 'pending') await this.#readWorker(house, runId);
  }

  async #readWorker(house: PoolHouse, runId: string, toolCalls = 0): Promise<void> {
    for (const event of await house.events(runId)) this.#apply(event);
    this.#known.get(runId)?.tell(toolCalls);
  }

  async #follow(house: PoolHouse, after: number, signal: AbortSignal): Promise<void> {
    for await (const event of house.follow({ after, types: WATCHED, signal })) {
      this.#apply(event);
      if (event.type !== 'tool.started' && event.type !== 'worker.progress') this.#onChange();
    }
  }

  /** An event that was counted before changes nothing. */
  #apply(event: EventEnvelope): void {
    const { runId } = event;
    if (runId === null) return;
    if (event.type === 'dispatch.accepted') this.#accept(runId, event);
    if (event.type === 'timeout.drained' || event.type === 'branch.dropped') this.#timedOut.delete(runId);
    const known = this.#known.get(runId);
    if (known === undefined) return;
    if (known.add(event)) this.#known.delete(runId);
    const { branch } = known.worker.currentTask;
    const isTimeout = event.type === 'dispatch.failed' && event.failure.reason === 'timeout';
    if (isTimeout && event.branch !== undefined && branch !== undefined) this.#timedOut.set(runId, branch);
  }

  #accept(runId: string, event: Extract<EventEnvelope, { type: 'dispatch.accepted' }>): void {
    if (event.continues !== undefined) this.#timedOut.delete(event.continues); // the branch goes on there
    if (event.task.pool !== this.#name || this.#known.has(runId)) return;
    this.#known.set(runId, new KnownWorker(event));
  }
}
