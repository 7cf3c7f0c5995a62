/** Builds the house: the only file that constructs rooms and connects them. */
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { BusTopic, definedOnly } from '@caisson/protocol';
import type { SafeEventBus } from './bus/index.ts';
import { createCallbacks } from './callbacks/index.ts';
import { bundlePath } from './composition/bundle-path.ts';
import { closeRooms } from './composition/close-rooms.ts';
import type { Engine, EngineOptions } from './composition/engine-contract.ts';
import { prepareCompileCache } from './composition/compile-cache.ts';
import { openCallerRooms, openSecrets, type Environment } from './composition/as-caller.ts';
import { searchPath } from './composition/dispatch-settings.ts';
import { createSealer, type Sealer } from './composition/seal-evidence.ts';
import { obeyOrder, reportLive } from './composition/obey-order.ts';
import { createRecovering } from './composition/create-recovering.ts';
import { openBus } from './composition/open-bus.ts';
import { openBudget } from './composition/open-budget.ts';
import { openHosts } from './composition/open-hosts.ts';
import { openSpareWorkers } from './composition/open-spare-workers.ts';
import { createLiveStates } from './composition/live-states.ts';
import { openStore } from './composition/open-store.ts';
import { openTelemetry } from './composition/open-telemetry.ts';
import { createBusPublisher } from './composition/publish-on-bus.ts';
import { probeSandboxHere } from './composition/probe-sandbox-here.ts';
import { openState } from './composition/state-folder.ts';
import { createLocalCompute, inheritVariables } from './compute/index.ts';
import { readHostEnvironment, type ResolvedConfig } from './config/index.ts';
import { dispatchOnce } from './operations/dispatch-once.ts';
import { repairRecentRefs } from './operations/repair-own-refs.ts';
import { createDispatcher, createRequestHandler } from './dispatch/index.ts';
import { createHostBackoff, recover } from './recovery/index.ts';
import { type Dispatcher, type DispatchRooms } from './admission/index.ts';
import type { HostPost } from './hosts/index.ts';
import { createFeed, createRecorder } from './ledger/index.ts';
import { createPrefixedId } from './platform/index.ts';
import { createApprovals } from './questions/index.ts';
import { openRegistry } from './registry/index.ts';
import { createSessions } from './session/index.ts';
import { NoStateError } from './trust/index.ts';
import { createWorkspaces } from './workspace/index.ts';

export type * from './composition/engine-contract.ts';

export function createEngine(config: ResolvedConfig, cwd: string, options: EngineOptions = {}): Engine {
  const base = openStorage(config, options);
  const { bus, hosts, recorder } = base;
  const env = readHostEnvironment();
  const services = openServices(config, env, base);
  const { callbacks } = services;
  const telemetry = openTelemetry({ ...base, ...services, config, env, version: options.version });
  recorder.listen(createBusPublisher(bus));
  recorder.listen((event) => {
    if (event.seq > 0) callbacks.receive(event);
  });
  recorder.listen((event) => telemetry.receive(event));
  const sealer = createSealer({
    ...base,
    config,
    path: searchPath(env),
    version: options.version ?? 'unknown',
    sinks: options.sinks ?? [],
    warn: warnAs(bus, 'evidence'),
  });
  const rooms = openRooms(
    { config, env, cwd, options, base, services, sealer },
    {
      dispatch: (request) => dispatchOnce(engine, request),
      recoverDead: () => recovering.recoverDead({ isRepeated: true }),
    },
  );
  const dispatcher = createDispatcher(rooms);
  const post = createOwnPost(config, base, services, dispatcher);
  const backoff = createHostBackoff(base.clock);
  let adopts = false;
  const recovering = createRecovering(base.clock, ({ isRepeated = false, cancelled }) => {
    const how = { hosts, announce: post.open, repairRefs: () => repairRecentRefs({ ...base, config }) };
    const options = definedOnly({ cancelled, backoff: isRepeated ? backoff : undefined });
    const adopt = adopts && !dispatcher.closing.aborted ? dispatcher.adopt : null;
    const drives = (runId: string): boolean => dispatcher.active(runId) !== null;
    return recover({ rooms, ...how, adopt, drives, ...options });
  });
  const engine: Engine = {
    config,
    env,
    ...base,
    ...services,
    telemetry,
    rooms,
    sealer,
    dispatcher,
    openPost: post.open,
    checkPost: post.check,
    beginAdopting: () => void (adopts = true),
    recover: recovering.recoverDead,
    async close() {
      await recovering.close();
      await closeRooms({ ...base, ...services, telemetry, rooms, sealer, dispatcher }, post.opened());
    },
  };
  return engine;
}

/** Opened once, by the first that needs it. */
function createOwnPost(
  config: ResolvedConfig,
  { hosts, hostId, hasFolder, live, feed, ledger, bus }: Base,
  { approvals, callbacks }: ReturnType<typeof openServices>,
  dispatcher: Dispatcher,
) {
  let post: Promise<HostPost> | null = null;
  return {
    async open(): Promise<void> {
      if (post !== null) return void (await post);
      if (!hasFolder) throw new NoStateError(config.stateDir);
      await (post = hosts.open(
        hostId,
        (order) => obeyOrder(order, { approvals, dispatcher, live }),
        (order, gone) => reportLive(order, gone, feed),
        { isInPlace: () => ledger.isThere(), warn: warnAs(bus, 'hosts') },
      ));
      callbacks.resume();
    },
    check: async (): Promise<void> => void (await (await post)?.check()),
    opened: () => post,
  };
}

/** The durable part: the ledger, the store, and the listeners. */
function openStorage(
  config: ResolvedConfig,
  { makesState = true, isDaemon, bus = openBus() }: EngineOptions,
) {
  const { home, state: userState } = config.folders;
  const { state, hasFolder, ledger, endings } = openState(config, { isMade: makesState, isDaemon });
  const clock = systemClock;
  const { store, mirror } = openStore(config, clock, warnAs(bus, 'store'));
  const recorder = createRecorder({ ledger, clock });
  const live = createLiveStates((runId) => ledger.readRun(runId));
  recorder.listen((event) => live.receive(event));
  return {
    clock,
    hostId: createPrefixedId('host', clock),
    bus,
    hasFolder,
    ledger,
    recorder,
    feed: createFeed({ ledger, recorder, clock }),
    live,
    stamp: state.stamp,
    endings,
    store,
    mirror,
    registry: openRegistry({ folder: join(config.stateDir, 'registry'), store, clock }),
    hosts: openHosts(config.stateDir, ledger),
    workspaces: createWorkspaces({ home, userState, stamp: state.stamp }),
  };
}

type Base = ReturnType<typeof openStorage>;

/** The rooms that a run, or a person who inspects one, uses. */
function openServices(config: ResolvedConfig, env: Environment, base: Base) {
  const { clock, bus, ledger, recorder, hosts, hostId, stamp } = base;
  const secrets = openSecrets({ config, env, clock, bus });
  return {
    secrets,
    budget: openBudget(config, ledger, bus, clock),
    approvals: createApprovals({ clock, deadlineMs: approvalDeadlineMs(config) }),
    sessions: createSessions({
      stateDir: config.stateDir,
      clock,
      onReset: (session) => bus.emit(BusTopic.SESSION_RESET, { session }),
    }),
    callbacks: createCallbacks({
      endpoints: config.callbacks,
      ledger,
      recorder,
      hostId,
      clock,
      stamp,
      resolveSecret: (ref) => secrets.resolve(ref),
      isHostAlive: (id) => hosts.isAlive(id),
      warn: warnAs(bus, 'callbacks'),
    }),
  };
}

interface Plan {
  readonly config: ResolvedConfig;
  readonly env: Environment;
  readonly cwd: string;
  readonly options: EngineOptions;
  readonly base: Base;
  readonly services: ReturnType<typeof openServices>;
  readonly sealer: Sealer;
}

/** Everything that dispatch works with; its own part (`back`) exists a moment later. */
function openRooms(
  { config, env, cwd, options, base, services, sealer }: Plan,
  back: Pick<Dispatcher, 'dispatch'> & Pick<DispatchRooms, 'recoverDead'>,
): DispatchRooms {
  const { clock, hostId, hosts, ledger, recorder, feed, store, registry, workspaces } = base;
  const { approvals, budget, callbacks, secrets, sessions } = services;
  const view = openCallerRooms({ config, env, cwd, registry });
  return {
    hostId,
    clock,
    ledger,
    recorder,
    feed,
    store,
    compute: createLocalCompute({
      node: view.settings.node,
      workerEntry: bundlePath('worker.mjs'),
      compileCache: prepareCompileCache(config.folders),
      inherited: inheritVariables(env),
      spares: options.spareWorkers ?? openSpareWorkers({ keepsNext: true }),
    }),
    workspaces,
    budget,
    secrets,
    callbacks,
    requests: createRequestHandler({ approvals, dispatch: back.dispatch, rooms: { store, ledger } }),
    sessions,
    isDaemon: options.isDaemon ?? false,
    ...view,
    probeSandbox: () => probeSandboxHere(ledger),
    seal: sealer.seal,
    prepareToSeal: sealer.prepare,
    freeReserve: () => hosts.freeReserve(hostId),
    recoverDead: back.recoverDead,
  };
}

function warnAs(bus: SafeEventBus, source: string): (message: string) => void {
  return (message) => void bus.emit(BusTopic.WARNING, { source, message });
}

/** The hooks of the agent programs give up after 330 s, and some of them then allow the call: we answer before that. */
const LONGEST_HOLD_MS = 310_000;

function approvalDeadlineMs(config: ResolvedConfig): number {
  return Math.min(config.questions.approvalDeadlineMs, LONGEST_HOLD_MS);
}
