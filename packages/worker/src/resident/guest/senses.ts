/**
 * The senses of a group. Each has one thread for all its computes, and gets the next one when that ended; a compute that does
 * not stop in time costs its own thread alone.
 */
import type { EmittedSignal, GuestFailure, GuestOrder } from '@caisson/protocol';
import { loadThread, type LoadedThread } from './loaded-thread.ts';
import { createPinnedFiles } from './pinned-files.ts';
import type { LoadOrder, Outlet, Served } from './serve-guest.ts';
import type { UserThread } from './user-thread.ts';
import { createWorkLimit, type WorkLimit } from './work-limit.ts';

type ComputeOrder = Extract<GuestOrder, { readonly kind: 'compute' }>;
type Module = LoadOrder['modules'][number];

interface Outcome {
  readonly signals: readonly EmittedSignal[];
  readonly failure?: GuestFailure;
}

interface Sense {
  load(): Promise<string | null>;
  compute(order: ComputeOrder): void;
  abandon(id: string, why: string, graceMs: number): void;
  /** What these computes emitted is recorded. */
  forget(computeIds: readonly string[]): void;
}

export function openSenses(order: LoadOrder, outlet: Outlet): Served {
  const senses = new Map(order.modules.map((module) => [module.name, createSense(order, module, outlet)]));
  return {
    async load() {
      const problems = new Map<string, string>();
      await Promise.all(
        [...senses].map(async ([name, sense]) => {
          const problem = await sense.load();
          if (problem !== null) problems.set(name, problem);
        }),
      );
      return problems;
    },
    take(each) {
      if (each.kind === 'compute') senses.get(each.name)?.compute(each);
      else if (each.kind === 'delivered') senses.get(each.name)?.forget(each.computeIds);
      else if (each.kind === 'abandon')
        for (const sense of senses.values()) sense.abandon(each.id, each.why, each.graceMs);
    },
  };
}

function createSense(options: LoadOrder, module: Module, outlet: Outlet): Sense {
  const threads = createSenseThreads(options, module, outlet);
  let running: RunningCompute | null = null;
  /** Computes that have not begun, and why one of them is not to begin. */
  const waiting = new Map<string, string | null>();
  let queue = Promise.resolve();
  /** A thread that an earlier compute has ended (it rejected after its return) costs the next one nothing but the new thread. */
  const run = async (order: ComputeOrder): Promise<Outcome> =>
    (await runOnce(order)) ??
    (await runOnce(order)) ??
    failed({ kind: 'exited', detail: 'its thread ended twice' });
  const runOnce = async (order: ComputeOrder): Promise<Outcome | null> => {
    const { thread, problem } = threads.use();
    const refusal = await problem;
    const why = waiting.get(order.id) ?? null;
    waiting.delete(order.id);
    if (refusal !== null) return failed({ kind: 'invalid', detail: refusal });
    if (why !== null) return failed({ kind: 'aborted', detail: why });
    running = runCompute(order, thread, {
      onBegin: threads.begin,
      onKill: () => threads.replace(thread),
      onLog: (text) => outlet.log(module.name, text),
    });
    const outcome = await running.outcome;
    running = null;
    threads.finish();
    if (outcome === null) waiting.set(order.id, null);
    return outcome;
  };
  return {
    load: () => threads.use().problem,
    compute(order) {
      waiting.set(order.id, null);
      queue = queue.then(async () => {
        const startedAt = performance.now();
        const { signals, failure } = await run(order);
        const durationMs = performance.now() - startedAt;
        const line = { kind: 'computed' as const, id: order.id, durationMs, signals: [...signals] };
        outlet.say(failure === undefined ? line : { ...line, failure });
      });
    },
    abandon(id, why, graceMs) {
      if (running?.id === id) running.limit.abort('aborted', why, graceMs);
      else if (waiting.has(id)) waiting.set(id, why);
    },
    forget: (computeIds) => threads.use().thread.post({ kind: 'delivered', computeIds }),
  };
}

interface SenseThreads {
  /** The thread that there is, or the next one. */
  use(): LoadedThread;
  begin(): void;
  finish(): void;
  /** This one is being ended; the next compute does not wait for that. */
  replace(thread: UserThread): void;
}

function createSenseThreads(options: LoadOrder, module: Module, outlet: Outlet): SenseThreads {
  const pinned = createPinnedFiles();
  let current: LoadedThread | null = null;
  let [isUsed, isComputing] = [false, false];
  const use = (): LoadedThread => {
    if (current !== null) return current;
    const loaded = loadThread(options, module, { pinned, outlet });
    current = loaded;
    isUsed = false;
    void loaded.thread.ended.then(({ detail }) => {
      if (current !== loaded) return;
      current = null;
      if (!isUsed) return; // it would be started again and again
      if (!isComputing) outlet.log(module.name, `it ended between two computes: ${detail}`);
      use();
    });
    return loaded;
  };
  return {
    use,
    begin: () => void (isUsed = isComputing = true),
    finish: () => void (isComputing = false),
    replace(thread) {
      if (current?.thread !== thread) return;
      current = null;
      use();
    },
  };
}

interface RunningCompute {
  readonly id: string;
  readonly limit: WorkLimit;
  /** Null: its thread had ended, and did not begin it. */
  readonly outcome: Promise<Outcome | null>;
}

interface ComputeHooks {
  onBegin(): void;
  /** It did not stop within its grace, and its thread is being ended. */
  onKill(): void;
  onLog(text: string): void;
}

function runCompute(order: ComputeOrder, thread: UserThread, hooks: ComputeHooks): RunningCompute {
  const { promise: outcome, resolve } = Promise.withResolvers<Outcome | null>();
  let hasBegun = false;
  const finish = (found: Outcome | null): void => {
    clearTimeout(timer);
    limit.clear();
    thread.onEnded = () => undefined;
    const reason = limit.reason();
    // One that succeeded after all has committed its state.
    resolve(reason === null || (found !== null && found.failure === undefined) ? found : failed(reason));
  };
  const limit = createWorkLimit(thread, () => {
    finish(failed({ kind: 'aborted', detail: 'it did not stop' }));
    hooks.onKill();
  });
  const timer = setTimeout(
    () => limit.abort('timeout', `it took longer than ${order.timeoutMs} ms`, order.graceMs),
    order.timeoutMs,
  );
  hooks.onBegin();
  thread.onLine = (line) => {
    if (line.kind === 'logged') hooks.onLog(line.text);
    else if (line.kind === 'began') hasBegun = true;
    else if (line.kind === 'computed') finish(line);
  };
  thread.onEnded = (failure) => finish(hasBegun ? failed(failure) : null);
  const { computeId, covers, cause, origin } = order;
  if (thread.failure() === null) thread.post({ kind: 'compute', computeId, covers, cause, origin });
  else finish(null);
  return { id: order.id, limit, outcome };
}

function failed(failure: GuestFailure): Outcome {
  return { signals: [], failure };
}
