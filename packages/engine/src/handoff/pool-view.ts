/**
 * The state of a pool, from the ledger (WP2): which workers there are, how often each has called a tool, and whose branch
 * timed out and waits: as in `caisson branches`, until another run continues it, or it is drained or dropped. It is read once when the pool starts, and then follows what every process records.
 */
import { definedOnly, isEnding, type EventEnvelope, type EventType } from '@caisson/protocol';
import type { PoolHouse, PoolTask, Worker } from './contract.ts';

const WATCHED: readonly EventType[] = [
  ...(['dispatch.accepted', 'tool.started', 'timeout.drained', 'branch.dropped'] as const),
  ...(['dispatch.finished', 'dispatch.failed', 'dispatch.cancelled', 'dispatch.needs_input'] as const),
];

interface KnownWorker {
  readonly worker: Worker;
  toolCalls: number;
  /** The newest event that is counted. */
  lastSeq: number;
}

export class PoolView {
  readonly #name: string;
  readonly #onChange: () => void;
  readonly #workers = new Map<string, KnownWorker>();
  readonly #timedOut = new Map<string, string>();

  constructor(name: string, onChange: () => void) {
    this.#name = name;
    this.#onChange = onChange;
  }

  /** Workers of all processes by their run. */
  workers(): ReadonlyMap<string, Worker> {
    return new Map([...this.#workers].map(([runId, { worker }]) => [runId, worker]));
  }

  toolCalls(): number {
    return [...this.#workers.values()].reduce((sum, { toolCalls }) => sum + toolCalls, 0);
  }

  /** Branch by run, in the order of their timeouts. */
  timedOut(): ReadonlyMap<string, string> {
    return this.#timedOut;
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
    this.#workers.clear();
    this.#timedOut.clear();
    const rows = await house.runs({ status: ['queued', 'running', 'timeout'] });
    for (const { runId, status, worker, waitingBranch } of rows) {
      if (worker?.pool !== this.#name) continue;
      if (status !== 'timeout') await this.#readWorker(house, runId);
      else if (waitingBranch !== undefined && worker.drainedAt === undefined && worker.branch !== undefined)
        if ((await house.runs({ continues: runId, limit: 1 })).length === 0)
          this.#timedOut.set(runId, worker.branch);
    }
  }

  async #readWorker(house: PoolHouse, runId: string): Promise<void> {
    for (const event of await house.events(runId)) this.#apply(event);
  }

  async #follow(house: PoolHouse, after: number, signal: AbortSignal): Promise<void> {
    for await (const event of house.follow({ after, types: WATCHED, signal })) {
      this.#apply(event);
      this.#onChange();
    }
  }

  /** An event that was counted before changes nothing. */
  #apply(event: EventEnvelope): void {
    const { runId } = event;
    if (runId === null || event.seq === 0) return;
    if (event.type === 'dispatch.accepted') this.#accept(runId, event);
    const known = this.#workers.get(runId);
    if (event.type === 'timeout.drained' || event.type === 'branch.dropped') this.#timedOut.delete(runId);
    if (known === undefined) return;
    if (event.type === 'tool.started' && event.seq > known.lastSeq) known.toolCalls += 1;
    known.lastSeq = Math.max(known.lastSeq, event.seq);
    if (!isEnding(event)) return;
    this.#workers.delete(runId);
    const { branch } = known.worker.currentTask;
    const isTimeout = event.type === 'dispatch.failed' && event.failure.reason === 'timeout';
    if (isTimeout && event.branch?.status === 'created' && branch !== undefined)
      this.#timedOut.set(runId, branch);
  }

  #accept(runId: string, event: Extract<EventEnvelope, { type: 'dispatch.accepted' }>): void {
    if (event.continues !== undefined) this.#timedOut.delete(event.continues); // the branch goes on there
    const { id, description, scope, acceptance, branch, priority, pool } = event.task;
    if (pool !== this.#name || this.#workers.has(runId)) return;
    const currentTask: PoolTask = {
      id,
      description,
      ...definedOnly({ scope, acceptance, branch, priority }),
    };
    const worker = { id: `ephemeral-${id}`, currentTask, startedAt: Date.parse(event.at) };
    this.#workers.set(runId, { worker, toolCalls: 0, lastSeq: event.seq });
  }
}
