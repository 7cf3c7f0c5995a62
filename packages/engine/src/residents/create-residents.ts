/** The door of the room: workers, senses, signals, threads and reload, joined. */
import type { Clock, Stamp } from '@caisson/ground';
import { BusTopic, type WorkflowView } from '@caisson/protocol';
import type { SafeEventBus } from '../bus/index.ts';
import type { EventFeed, Ledger, Recorder } from '../ledger/index.ts';
import type {
  Emission,
  NotBegun,
  ResidentSettings,
  Residents,
  ResidentStarter,
  Threads,
  WorkerRuntime,
  WorkflowSettings,
} from './contract.ts';
import { createFileWatch } from './file-watch.ts';
import { keyOfWorkflow } from './plans.ts';
import { createReloader } from './reload.ts';
import { findRunCauses } from './run-causes.ts';
import { followRunEndings, type EndedRun, type RunEndingsOptions } from './run-endings.ts';
import { createRunListeners, type RunListeners } from './run-listeners.ts';
import type { RuntimeLimits } from './runtime-limits.ts';
import { createSenses, type Senses } from './senses.ts';
import { createSignals, type Signals, type SignalsOptions } from './signals.ts';
import { createWorkerRuntime } from './worker-runtime.ts';

export interface ResidentsOptions {
  readonly projectRoot: string;
  readonly starter: ResidentStarter;
  readonly clock: Clock;
  readonly ledger: Pick<Ledger, 'alone' | 'kv' | 'lastOffset' | 'read' | 'run' | 'walk' | 'whenFree'>;
  readonly recorder: Pick<Recorder, 'of'>;
  readonly feed: Pick<EventFeed, 'read'>;
  readonly bus: Pick<SafeEventBus, 'emit'>;
  /** Called for each reload. A throw changes nothing. */
  readSettings(): ResidentSettings | Promise<ResidentSettings>;
  /** `stop` of what it returns must not begin another turn from its call on. */
  openThreads(runtime: WorkerRuntime): Threads;
  readonly stamp: Pick<Stamp, 'wrap' | 'unwrap'>;
  warn(message: string): void;
  readonly limits?: Partial<RuntimeLimits>;
}

/** For turns under way when the daemon stops. */
const STOP_GRACE_MS = 10_000;

/** Resolves when everything is declared and what the last daemon left goes on. */
export async function createResidents(options: ResidentsOptions): Promise<Residents> {
  await options.starter.sweep();
  const { clock, warn, limits = {} } = options;
  const onUndelivered = (sense: string, emission: Emission): void =>
    void senses.takeUndelivered(sense, emission);
  const runtime = createWorkerRuntime({ ...options, limits, onUndelivered });
  const threads = options.openThreads(runtime);
  const { senses, signals, onEnded } = joinSenses(options, runtime, threads, () => reloader.settings());
  const files = createFileWatch({ root: options.projectRoot, clock, warn });
  let isFirst = true;
  const resumeThreads = (keys: readonly string[]): Promise<void> =>
    resumeThreadsOf(threads, reloader.settings(), keys);
  const onReloaded = (changed: readonly string[]): void => {
    if (isFirst) return;
    options.bus.emit(BusTopic.EXTENSIONS_RELOADED, { changed: [...changed] });
    resumeThreads(changed).catch((error: unknown) =>
      warn(`threads of changed workflows wait: ${(error as Error).message}`),
    );
  };
  const reloader = createReloader({ ...options, runtime, senses, files, onReloaded });
  let stopEndings = (): void => undefined;
  const begin = async (): Promise<void> => {
    await reloader.reload();
    isFirst = false;
    await threads.recoverThreadsForWorker();
    signals.resume();
    stopEndings = followRunEndings({ ...options, onEnded });
  };
  let stopped: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    stopEndings();
    files.stop();
    signals.stop(); // before the senses: what they do not compute any more is delivered at the next start
    senses.stop();
    const threadsStopped = threads.stop();
    await Promise.all([reloader.stop(), runtime.shutdown({ graceMs: STOP_GRACE_MS }), threadsStopped]);
  };
  await begin().catch(async (error: unknown) => {
    await stop(); // otherwise its timers and workers go on, and nothing could end them
    throw error;
  });
  return {
    senses: () => senses.views(),
    workflows: () => reloader.settings().workflows.map((flow) => describe(flow, runtime, threads)),
    residents: () => runtime.list(),
    threads,
    trigger: (sense) => senses.request(sense, { kind: 'user' }),
    async reset(key) {
      await runtime.reset(key);
      await resumeThreads([key]);
    },
    drain: (key) => runtime.drain(key),
    async restart(key) {
      await runtime.restart(key);
      await resumeThreads([key]);
    },
    reload: () => reloader.reload(),
    stop: () => (stopped ??= stop()),
  };
}

/** Threads that were held because the key could not work, and those that have a place by now. */
async function resumeThreadsOf(
  threads: Threads,
  { workflows }: ResidentSettings,
  keys: readonly string[],
): Promise<void> {
  const flows = workflows.filter(({ name }) => keys.includes(keyOfWorkflow(name)));
  for (const { name } of flows) await threads.recoverThreadsForWorker(name);
}

interface JoinedSenses {
  readonly senses: Senses;
  readonly signals: Signals;
  /** Of a run. */
  readonly onEnded: RunEndingsOptions['onEnded'];
}

/** Senses emit signals, and signals and endings of runs make senses compute. */
function joinSenses(
  { clock, recorder, ledger, warn }: ResidentsOptions,
  runtime: WorkerRuntime,
  threads: Threads,
  settings: () => ResidentSettings,
): JoinedSenses {
  const computeFor: SignalsOptions['computeFor'] = async (sense, signal) => {
    const { name, signalId, payload, causes } = signal;
    const cause = { kind: 'signal', name, signalId, payload } as const;
    const chain = [...causes, { signalId, name, sense: signal.sense }];
    const { dropped } = await senses.request(sense, cause, chain);
    return dropped === undefined ? {} : { dropped: findDropReason(dropped) };
  };
  const signals = createSignals({
    clock,
    recorder,
    ledger,
    warn,
    allowsLoop: (sense) =>
      settings().senses.some(({ name, allowLoop }) => name === sense && allowLoop === true),
    findListeners: (name) => ({
      senses: senses.findByTrigger('signal', (trigger) => trigger.name === name),
      workflows: settings()
        .workflows.filter(({ on }) => on.includes(name))
        .map((flow) => flow.name),
    }),
    computeFor,
    startThread: (start) => threads.start(start),
  });
  const listeners = createRunListeners({ ledger, warn });
  const record = recorder.of(null);
  const senses = createSenses({ clock, runtime, signals, warn, record, onDeclared: listeners.set });
  return { senses, signals, onEnded: (run) => computeForRun(ledger, { senses, signals, listeners }, run) };
}

function computeForRun(
  ledger: ResidentsOptions['ledger'],
  { senses, signals, listeners }: Pick<JoinedSenses, 'senses' | 'signals'> & { listeners: RunListeners },
  { runId, status, offset }: EndedRun,
): Promise<unknown> | null {
  const listening = senses
    .findByTrigger('runs', ({ statuses }) => statuses.includes(status))
    .filter((sense) => listeners.concerns(sense, offset));
  if (listening.length === 0) return null;
  const causes = findRunCauses(ledger, runId);
  const compute = async (sense: string): Promise<void> => {
    const { dropped } = await senses.request(sense, { kind: 'run', runId, status }, causes);
    if (dropped === undefined) return;
    const ending = { name: status, endedRun: runId, causes: [...causes] };
    signals.drop({ ...ending, why: findDropReason(dropped) }, sense);
  };
  return Promise.all(listening.map(compute));
}

/** A listener that is not there any more cannot work, either. */
function findDropReason(dropped: NotBegun): 'overflow' | 'blocked' {
  return dropped === 'overflow' ? dropped : 'blocked';
}

function describe(
  { name, file, on, concurrency, overflow }: WorkflowSettings,
  runtime: WorkerRuntime,
  threads: Threads,
): WorkflowView {
  const view = runtime.view(keyOfWorkflow(name));
  const problem = view?.problems?.[name];
  return {
    name,
    file,
    state: view?.state ?? 'idle',
    on: [...on],
    concurrency,
    overflow,
    active: threads.list({ workflow: name, status: ['running', 'waiting'] }).length,
    queued: threads.list({ workflow: name, status: ['queued'] }).length,
    ...(problem === undefined ? {} : { problem }),
  };
}
