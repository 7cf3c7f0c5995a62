/**
 * A worker that is started before it is needed, because starting a program takes longer than everything else a dispatch
 * does. It has loaded its code and waits on its control pipe for `assign`; it knows no run, has no slot and has read no
 * file of a run. It becomes an attempt's worker with `assign`, and only then has a handle (D2).
 *
 *   starting ──► waiting ──take──► an attempt's worker
 *                   └──stop, or the end of our process (end of file on fd 3)──► gone
 */
import { startChild, takeTurn, type Child } from '@caisson/ground';

/** An unused worker is ended after this long, to free memory. */
const IDLE_LIMIT_MS = 30_000;

/** The one source of workers that are started in advance; at most one of each program waits at a time. */
export interface SpareWorkers {
  /** Whether the next one is started before it is needed: this host will dispatch again. */
  readonly keepsNext: boolean;
  /** A worker will be needed: one is started, if none waits already. It loads what the expected attempt needs. */
  warm(expected?: ExpectedAttempt): void;
  /** The same for a worker with a program of its own (of a resident). */
  warmEntry(entry: string): void;
  /** A worker has answered: the machine is free to start the next one, if this host keeps one. */
  warmNext(): void;
  /** The waiting process, once; `null` when there is none, or it could not be started or has ended meanwhile. */
  take(entry?: string): Promise<Child | null>;
  /** Ends the waiting workers, which are no longer needed. */
  stop(): void;
}

/** What is known of an attempt before it is prepared. A wrong guess costs time, nothing else. */
export interface ExpectedAttempt {
  /** An agent asks its model through the worker; a command mostly reaches nothing. */
  readonly usesNetwork: boolean;
}

interface SpareWorker {
  take(): Promise<Child | null>;
  stop(): void;
}

export interface SpareWorkerOptions {
  readonly node: string;
  readonly workerEntry: string;
  /** Where compiled code is kept; null for nowhere. */
  readonly compileCache: string | null;
  /** See `inheritVariables`. */
  readonly inherited?: Readonly<Record<string, string>>;
  /** Whether the next one is started when one has answered: for a host that will dispatch again. */
  readonly keepsNext: boolean;
}

/**
 * Node's options for the worker. Everything that a short attempt allocates fits into a first generation of this size,
 * so that it is never collected: three collections of mostly live data took 6 ms.
 */
export const WORKER_FLAGS: readonly string[] = ['--min-semi-space-size=8'];

/** The environment that every worker has from its start. */
export function startVariables(
  { compileCache, inherited }: Pick<SpareWorkerOptions, 'compileCache' | 'inherited'>,
  { usesNetwork }: ExpectedAttempt = { usesNetwork: false },
): Record<string, string> {
  return {
    ...(usesNetwork ? { CAISSON_EXPECTS_NETWORK: '1' } : {}),
    ...(compileCache === null ? {} : { NODE_COMPILE_CACHE: compileCache }),
    ...inherited,
  };
}

/** Starts nothing before it is asked to. */
export function createSpareWorkers(options: SpareWorkerOptions): SpareWorkers {
  const { workerEntry } = options;
  const spares = new Map<string, SpareWorker>();
  let last: ExpectedAttempt = { usesNetwork: false };
  const demand = createDemand();
  const keep = (entry: string, how: SpareStart): void => {
    if (!spares.has(entry)) spares.set(entry, startSpareWorker(options, entry, how));
  };
  const onUnused = (): void => undefined;
  return {
    keepsNext: options.keepsNext,
    warm(expected = last) {
      last = expected;
      keep(workerEntry, { expected, turn: null, onUnused });
    },
    warmEntry: (entry) => keep(entry, { turn: null, onUnused: () => void spares.delete(entry) }),
    warmNext() {
      if (!options.keepsNext || !demand.isLikely()) return;
      keep(workerEntry, { expected: last, turn: takeTurn(), onUnused: demand.unused });
    },
    async take(entry = workerEntry) {
      if (entry === workerEntry) demand.taken();
      const taken = spares.get(entry);
      spares.delete(entry);
      return (await taken?.take()) ?? null;
    },
    stop() {
      for (const spare of spares.values()) spare.stop();
      spares.clear();
    },
  };
}

interface SpareStart {
  readonly expected?: ExpectedAttempt;
  /** When it may start; null for at once. */
  readonly turn: Promise<void> | null;
  onUnused(): void;
}

/**
 * Whether the next attempt comes soon enough for a worker that is started now. After one that nobody took, only if the
 * last two came so close together: a start costs as much as half a short run.
 */
function createDemand() {
  let wasUnused = false;
  let isClose = false;
  let takenMs = -Infinity;
  return {
    isLikely: () => isClose || !wasUnused,
    unused: () => void (wasUnused = true),
    taken() {
      const nowMs = performance.now();
      isClose = nowMs - takenMs < IDLE_LIMIT_MS;
      takenMs = nowMs;
    },
  };
}

/** Starts a worker in advance, at once or in its turn. It does not keep our process alive. */
function startSpareWorker(
  options: SpareWorkerOptions,
  entry: string,
  { expected, turn, onUnused }: SpareStart,
): SpareWorker {
  let child: Child | null = null;
  let isOver = false;
  const start = (): Promise<Child> => {
    if (isOver) throw new Error('it is no longer needed');
    return startChild({
      file: options.node,
      args: [...WORKER_FLAGS, entry],
      cwd: '/',
      env: {
        CAISSON_SPARE: '1',
        CAISSON_PARENT_PID: String(process.pid),
        ...(options.keepsNext ? { CAISSON_VIEW_IN_JOB: '1' } : {}),
        ...startVariables(options, expected),
      },
    });
  };
  const started = (turn === null ? start() : turn.then(start)).then(
    (it) => {
      child = it;
      it.unref();
      void it.exited.then(() => (isOver = true));
      if (isOver) it.kill('SIGKILL');
      return it;
    },
    () => null, // a start that fails here fails again, and is reported, when the worker is needed
  );
  const stop = (): void => {
    isOver = true;
    clearTimeout(timer);
    child?.kill('SIGKILL');
  };
  const timer = setTimeout(() => {
    stop();
    onUnused();
  }, IDLE_LIMIT_MS);
  timer.unref();
  return {
    async take() {
      clearTimeout(timer);
      const it = await started;
      if (it === null || isOver) return null;
      isOver = true;
      it.ref();
      return it;
    },
    stop,
  };
}
