// Many appends, one fsync. Calls that arrive in the same turn of the event loop, or while a commit runs, share the next
// transaction. Each call is planned on its own draft, so a refused one does not affect the others.

import { CaissonError, FIRST_EPOCH } from '@caisson/protocol';
import type { AdmittedEvent } from './admit-event.ts';
import { Draft } from './draft.ts';
import { putEndingMarks, type EndingSigner } from './ending-marks.ts';
import type { CommitOptions, Commits, Recorded } from './commits.ts';
import type { Fence, PoolLimit } from './contract.ts';
import { LedgerBusyError, LedgerFullError, PoolFullError, RunTakenOverError } from './errors.ts';
import { planAppend } from './plan-append.ts';
import { queuedIn } from './project.ts';
import type { Storage } from './storage.ts';

const MAX_CALLS_PER_COMMIT = 1024;
/** How long an append keeps trying while other processes hold the lock, by default. */
export const DEFAULT_PATIENCE_MS = 30_000;
/** The same for a ledger that is being closed. */
export const LAST_PATIENCE_MS = 10_000;

interface Call {
  readonly events: readonly AdmittedEvent[];
  readonly options: CommitOptions;
  readonly askedAtMs: number;
  readonly resolve: (recorded: Recorded) => void;
  readonly reject: (error: unknown) => void;
}

interface GroupCommitOptions {
  readonly patienceMs?: number | undefined;
  readonly endings?: EndingSigner | undefined;
}

type Planned = ({ kind: 'recorded' } & Recorded) | { kind: 'refused'; error: unknown };

export class GroupCommit implements Commits {
  readonly #storage: Storage;
  readonly #onCommit: () => void;
  readonly #endings: EndingSigner | undefined;
  #patienceMs: number;
  #waiting: Call[] = [];
  #isScheduled = false;
  #idle: { promise: Promise<void>; resolve: () => void } | null = null;

  constructor(
    storage: Storage,
    onCommit: () => void,
    { patienceMs = DEFAULT_PATIENCE_MS, endings }: GroupCommitOptions = {},
  ) {
    this.#storage = storage;
    this.#onCommit = onCommit;
    this.#patienceMs = patienceMs;
    this.#endings = endings;
  }

  submit(events: readonly AdmittedEvent[], options: CommitOptions = {}): Promise<Recorded> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, options, askedAtMs: performance.now(), resolve, reject });
      this.#schedule(0);
    });
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  drain(): Promise<void> {
    this.#patienceMs = Math.min(this.#patienceMs, LAST_PATIENCE_MS);
    if (this.#waiting.length === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  #schedule(delayMs: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (delayMs > 0) setTimeout(() => this.#flush(), delayMs);
    else setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const calls = this.#waiting.splice(0, MAX_CALLS_PER_COMMIT);
    const isBusy = this.#commit(calls) === 'busy';
    if (isBusy) this.#waiting.unshift(...calls);
    // Waiting a little, unevenly, lets the process with the lock finish and another one in.
    if (this.#waiting.length > 0) this.#schedule(isBusy ? 5 + Math.random() * 20 : 0);
    else this.#idle?.resolve();
    if (this.#waiting.length === 0) this.#idle = null;
  }

  #commit(calls: readonly Call[]): 'done' | 'busy' {
    try {
      const planned = this.#writeTogether(calls);
      if (planned.some((plan) => plan.kind === 'recorded')) this.#onCommit();
      calls.forEach((call, index) => settle(call, planned[index]));
      return 'done';
    } catch (error) {
      return this.#recover(calls, error);
    }
  }

  #writeTogether(calls: readonly Call[]): Planned[] {
    const write = (): Planned[] => {
      const commit = new Draft(this.#storage);
      const planned = calls.map((call) => planCall(this.#storage, commit, call));
      if (this.#endings !== undefined) putEndingMarks(this.#storage.working, commit.events, this.#endings);
      this.#storage.apply(commit);
      return planned;
    };
    return this.#storage.briefly(() => this.#storage.write(write));
  }

  #recover(calls: readonly Call[], error: unknown): 'done' | 'busy' {
    const [first] = calls;
    if (
      error instanceof LedgerBusyError &&
      first !== undefined &&
      performance.now() - first.askedAtMs < this.#patienceMs
    ) {
      return 'busy';
    }
    // One call that is too large for the disk must not fail the small ones.
    if (error instanceof LedgerFullError && calls.length > 1) {
      for (const call of calls) this.#commit([call]);
      return 'done';
    }
    for (const call of calls) call.reject(error);
    return 'done';
  }
}

function planCall(storage: Storage, commit: Draft, call: Call): Planned {
  // A single event is refused before any of it is in a draft, so most calls need no draft.
  const draft = call.events.length === 1 ? commit : new Draft(commit);
  try {
    if (call.options.poolLimit !== undefined) requireFreePlace(storage, commit, call.options.poolLimit);
    if (call.options.fence !== undefined) requireOwner(commit, call.options.fence);
    const countBefore = draft.total().count;
    const records = planAppend(draft, call.events, call.options.expectedSeq);
    if (draft !== commit) commit.absorb(draft);
    return { kind: 'recorded', records, countBefore };
  } catch (error) {
    // Our errors are refusals of this call; anything else is a storage failure, and that concerns the whole commit.
    if (!(error instanceof CaissonError)) throw error;
    return { kind: 'refused', error };
  }
}

function requireOwner(commit: Draft, { runId, epoch }: Fence): void {
  const run = commit.run(runId);
  if ((run?.epoch ?? FIRST_EPOCH) > epoch) throw new RunTakenOverError(runId, run?.host ?? '');
}

/** Counts the stored rows and what this commit already adds to them. */
function requireFreePlace(storage: Storage, commit: Draft, { pool, bound }: PoolLimit): void {
  const added = commit
    .changedRuns()
    .filter((run) => queuedIn(run) === pool && storage.run(run.runId) === null).length;
  const count = storage.working.slots(pool).length + storage.working.queueCount(pool) + added;
  if (count >= bound) throw new PoolFullError(pool, count, bound);
}

function settle(call: Call, planned: Planned | undefined): void {
  if (planned?.kind === 'recorded') call.resolve(planned);
  else call.reject(planned?.error);
}
