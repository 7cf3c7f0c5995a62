/** A daemon: this process carries out the runs of a project for others, until it is stopped. */
import {
  ADOPTION_VERSION,
  BusTopic,
  definedOnly,
  type DaemonIdentity,
  type DaemonStatus,
} from '@caisson/protocol';
import type { ApiHost } from '../api/index.ts';
import { openHost } from '../caisson.ts';
import type { Caisson, CaissonOptions } from '../caisson-contract.ts';
import type { OpenedHost } from '../composition/open-here.ts';
import { readHostEnvironment } from '../config/index.ts';
import {
  createGate,
  createLife,
  hasLease,
  identifyDaemon,
  releaseLease,
  startSystemdNotifier,
  startTimers,
  takeLease,
  type DaemonControl,
  type DaemonLife,
  type Gate,
  type LifeOptions,
  type LeaseRooms,
} from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import { requireSafeListening } from '../face/index.ts';
import { withinMs } from '../platform/index.ts';
import { findOwnLog, keepOwnLog } from './daemon-log.ts';
import { openDaemonServer, type DaemonServer } from './daemon-server.ts';
import { createRepeatedWork, listDueWork, type RepeatedWork } from './due-work.ts';
import { gateCaisson, type Gates } from './gate-caisson.ts';
import { reloadProject } from './reload-project.ts';
import { refuseBeside } from './start-daemon.ts';
import { serveResidents } from './serve-residents.ts';
import { watchPlace } from './watch-place.ts';

/** How long a change that was let in may take once the runs have ended. A daemon that is replaced has ten seconds for all. */
const LAST_CHANGES_MS = 5000;
/** How many of its runs a daemon names when it is asked about itself. */
const MAX_NAMED_RUNS = 100;

export interface ServedProject {
  /** The project, for callers in this process. Nothing is accepted once the daemon ends. */
  readonly caisson: Caisson;
  status(): DaemonStatus;
  stop: DaemonLife['stop'];
  /** Kills what has not stopped by itself. */
  force(): void;
  /** Resolves when everything is closed; rejects when the project was moved or removed meanwhile. */
  readonly ended: Promise<void>;
}

/** Throws DaemonRunsError when another process serves the project. */
export async function serveProject(options: CaissonOptions = {}): Promise<ServedProject> {
  const opened = await openHost({ ...options, makesState: true, isDaemon: true });
  const { engine, caisson } = opened;
  const own = identifyDaemon({ hostId: engine.hostId, version: options.version ?? 'unknown' }, engine.clock);
  const lease = leaseRoomsOf(engine);
  const startedMs = engine.clock.monotonicMs();
  const started: Undo[] = [];
  try {
    requireSafeListening(engine.config.api);
    const holder = await takeLease(lease, own);
    if (holder !== own) throw await refuseBeside(holder, engine.config);
    const seals = createRepeatedWork('seals');
    await opened.beginWork(seals.repeat);
    return await serve({ opened, own, startedMs, seals, started, onNotice: options.onNotice });
  } catch (error) {
    for (const undo of started.toReversed()) await undo().catch(() => undefined);
    releaseLease(lease, own);
    await caisson.close();
    throw error;
  }
}

/** Ends what a daemon had started when it could not go on. */
type Undo = () => Promise<void>;

function leaseRoomsOf({ ledger, hosts }: Engine): LeaseRooms {
  return { ledger, isHostAlive: (hostId) => hosts.isAlive(hostId) };
}

interface Serving {
  readonly opened: OpenedHost;
  readonly own: DaemonIdentity;
  /** Monotonic. */
  readonly startedMs: number;
  readonly seals: RepeatedWork;
  readonly started: Undo[];
  readonly onNotice: CaissonOptions['onNotice'];
}

async function serve(serving: Serving): Promise<ServedProject> {
  const { opened, own, seals, started, onNotice } = serving;
  const { engine } = opened;
  const warn = (message: string): void =>
    void engine.bus.emit(BusTopic.WARNING, { source: 'daemon', message });
  await takeOver(opened, started, onNotice);
  const notifier = await startSystemdNotifier(readHostEnvironment(), warn);
  started.push(() => notifier.stop());
  // One that stood still while another one replaced it may not even have noticed yet (DM1).
  const isServing = (): boolean => life.phase() === 'serving' && hasLease(engine, own);
  const gates: Gates = { starts: createGate(isServing), changes: createGate(isServing) };
  const life = openLife(engine, gates.starts, {
    close: () => close(),
    onPhase(phase) {
      if (phase !== 'draining') notifier.stopping(); // from then on systemd waits for TimeoutStopSec
      residents.stop().catch(() => undefined); // closing waits for it, and reports it
    },
  });
  const residents = await serveResidents({
    engine,
    gate: gates.starts,
    readConfig: () => opened.readConfig(),
    openCaisson: (env) => opened.forCaller({ cwd: engine.config.projectRoot, env }),
    isServing,
  });
  started.push(() => residents.stop());
  const enter = (given: Caisson): Caisson => gateCaisson(given, gates, residents.api);
  const caisson = enter(opened.caisson);
  const control: DaemonControl = {
    status: () => ({ ...describeStatus(serving, life, server), ...residents.status() }),
    metrics: () => engine.telemetry.page(),
    stop: life.stop,
    reload: () => reloadProject(opened, notifier, { residents, face: server.face }),
    openFace: (order) => server.face.open(order),
    closeFace: () => server.face.close(true),
  };
  const host: ApiHost = {
    ...opened,
    caisson,
    forCaller: async (caller) => enter(await opened.forCaller(caller)),
  };
  const place = watchPlace(engine, own, { life, warn });
  keepOwnLog(engine.config.stateDir); // who asked for the status from now on sees where it is
  const server = await openDaemonServer({ engine, host, control, ...place, warn });
  started.push(() => server.stop());
  await server.face.reopen();
  const rooms = { socket: server.socket, notifier, seals, schedules: residents.task, ...place };
  const timers = startTimers({ clock: engine.clock, tasks: listDueWork(engine, rooms), warn });
  const close = async (): Promise<void> => {
    await settleChanges(engine, gates);
    await stopAll([residents, timers], server, life);
    const gone = place.gone();
    if (gone === null) releaseLease(leaseRoomsOf(engine), own); // otherwise it ends with this process
    await opened.caisson.close();
    await notifier.stop();
    if (gone !== null) throw gone;
  };
  notifier.ready();
  return { caisson, status: control.status, stop: life.stop, force: life.force, ended: life.ended };
}

/** Before the socket is open; what fails is tried again by a timer. */
async function takeOver(
  { engine, settleLeft }: OpenedHost,
  started: Undo[],
  onNotice: CaissonOptions['onNotice'],
): Promise<void> {
  started.push(() => engine.dispatcher.leave()); // the next daemon adopts what this one had adopted
  engine.beginAdopting();
  await settleLeft().catch((error: unknown) => onNotice?.((error as Error).message));
}

async function settleChanges({ clock }: Engine, { starts, changes }: Gates): Promise<void> {
  await withinMs(clock, LAST_CHANGES_MS, Promise.all([...starts.entering(), ...changes.entering()]));
}

async function stopAll(
  parts: readonly { stop(): Promise<void> }[],
  server: DaemonServer,
  life: DaemonLife,
): Promise<void> {
  for (const part of parts) await part.stop();
  await server.face.close(life.phase() === 'stopping');
  await server.stop();
}

function openLife(
  { clock, dispatcher }: Engine,
  starts: Gate,
  { close, onPhase }: Pick<LifeOptions, 'onPhase'> & { close(): Promise<void> },
): DaemonLife {
  return createLife({
    clock,
    work: {
      underWay: () => [
        ...starts.entering(),
        ...dispatcher.underWay().map(({ ended }) => ended.catch(() => undefined)),
      ],
      shutdown: (how) => dispatcher.shutdown(how),
      leave: () => dispatcher.leave(),
      close,
    },
    onPhase,
  });
}

function describeStatus(
  { opened: { engine, readConfig }, own, startedMs }: Serving,
  life: DaemonLife,
  { socket, face }: DaemonServer,
): DaemonStatus {
  const { ledger, clock, config } = engine;
  const rows = ledger.runs({ status: ['queued', 'running'] }).filter(({ host }) => host === own.hostId);
  const running = rows.filter(({ status }) => status === 'running').length;
  const untilMs = life.drainsUntilMs();
  return {
    ...own,
    phase: life.phase(),
    adoptionVersion: ADOPTION_VERSION,
    uptimeMs: Math.round(clock.monotonicMs() - startedMs),
    projectRoot: config.projectRoot,
    stateDir: config.stateDir,
    socket: socket.path,
    ...definedOnly({ url: face.url() ?? undefined }),
    log: findOwnLog(config.stateDir),
    running,
    queued: rows.length - running,
    concurrency: readConfig().limits.concurrency,
    runs: rows.slice(0, MAX_NAMED_RUNS).map(({ runId, status, description, acceptedAt }) => ({
      runId,
      status: status === 'running' ? 'running' : 'queued',
      task: description,
      acceptedAt,
    })),
    ...definedOnly({ drainsUntil: untilMs === null ? undefined : new Date(untilMs).toISOString() }),
  };
}
