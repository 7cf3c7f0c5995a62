/**
 * The senses of a group. Each has one thread for all its computes, and gets the next one when that ended; a compute that does
 * not stop in time costs its own thread alone.
 */
import { loadThread, type LoadedThread } from './loaded-thread.ts';
import { createPinnedFiles } from './pinned-files.ts';
import { failed, runCompute, type Outcome, type RunningCompute } from './run-compute.ts';
import type { LoadOrder, Outlet, Served } from './serve-guest.ts';
import type { UserThread } from './user-thread.ts';
import { createWaiting, hand, type ComputeOrder } from './waiting-computes.ts';

type Module = LoadOrder['modules'][number];

interface Sense {
  load(): Promise<string | null>;
  compute(order: ComputeOrder): void;
  abandon(id: string, why: string, graceMs: number): void;
  /** What these computes emitted is recorded. */
  forget(computeIds: readonly string[]): void;
}

/** What the senses of a guest share. */
interface Group {
  /** Those with a compute under way. */
  readonly computing: Set<string>;
}

export function openSenses(order: LoadOrder, outlet: Outlet): Served {
  const group: Group = { computing: new Set() };
  const senses = new Map(
    order.modules.map((module) => [module.name, createSense(order, module, outlet, group)]),
  );
  return {
    load(onLoaded) {
      for (const [name, sense] of senses) void sense.load().then((problem) => onLoaded(name, problem));
    },
    take(each) {
      if (each.kind === 'compute') senses.get(each.name)?.compute(each);
      else if (each.kind === 'delivered') senses.get(each.name)?.forget(each.computeIds);
      else if (each.kind === 'abandon')
        for (const sense of senses.values()) sense.abandon(each.id, each.why, each.graceMs);
    },
  };
}

function createSense(options: LoadOrder, module: Module, outlet: Outlet, { computing }: Group): Sense {
  const threads = createSenseThreads(options, module, outlet);
  const waiting = createWaiting();
  let running: RunningCompute | null = null;
  let queue = Promise.resolve();
  /** A thread that an earlier compute has ended (it rejected after its return) costs the next one nothing but the new thread. */
  const run = async (order: ComputeOrder): Promise<Outcome> =>
    (await runOnce(order)) ??
    (await runOnce(order)) ??
    failed({ kind: 'exited', detail: 'its thread ended twice' });
  const runOnce = async (order: ComputeOrder): Promise<Outcome | null> => {
    const { thread, problem } = threads.use();
    const gone = thread.failure();
    // Without a compute of others, what fills the sandbox is left of earlier ones: only the end of the process removes it.
    if (gone?.kind === 'crashed' && computing.size === 0)
      return outlet.giveUp(`no thread can be started for ${module.name}: ${gone.detail}`);
    const early = waiting.takeHanded(order.id);
    const refusal = early === null ? await problem : null;
    const why = waiting.remove(order.id);
    if (refusal !== null) return failed({ kind: 'invalid', detail: refusal });
    if (why !== null && early === null) return failed({ kind: 'aborted', detail: why });
    const handed = early ?? hand(order, thread);
    running = runCompute(handed, {
      onBegin: threads.begin,
      onAbort: waiting.withdraw,
      onKill: () => threads.replace(handed.thread),
      onLog: (text) => outlet.log(module.name, text),
    });
    if (why !== null) running.abandon(why, order.graceMs);
    waiting.handNext(running);
    computing.add(module.name);
    const outcome = await running.outcome;
    computing.delete(module.name);
    running = null;
    threads.finish();
    if (outcome === null) waiting.add(order);
    return outcome;
  };
  return {
    load: () => threads.use().problem,
    compute(order) {
      waiting.add(order);
      waiting.handNext(running);
      queue = queue.then(async () => {
        const startedAt = performance.now();
        const { signals, failure } = await run(order);
        const durationMs = performance.now() - startedAt;
        const line = { kind: 'computed' as const, id: order.id, durationMs, signals: [...signals] };
        outlet.say(failure === undefined ? line : { ...line, failure });
      });
    },
    abandon(id, why, graceMs) {
      if (running?.id === id) running.abandon(why, graceMs);
      else waiting.abandon(id, why);
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
