/**
 * The residents of a daemon: loaded when the first is declared, read again by a reload, stopped first. A configuration that
 * the user has not agreed to changes nothing: what was agreed to goes on.
 */
import {
  BusTopic,
  definedOnly,
  type DaemonStatus,
  type ThreadRow,
  type ThreadStart,
} from '@caisson/protocol';
import type { Caisson, ResidentsApi } from '../caisson-contract.ts';
import { requireTrust } from '../composition/trusted-config.ts';
import { readHostEnvironment, type ResolvedConfig } from '../config/index.ts';
import {
  createSchedules,
  type FiredSlot,
  type Gate,
  type Schedule,
  type TimedTask,
} from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import type { Residents } from '../residents/index.ts';
import { countHeld, describeHold, describeWait } from './held-threads.ts';
import { readSchedules, toScheduledRequest } from './describe-schedule.ts';
import { findResidentKey, requireSense, requireWorkflow } from './find-resident.ts';
import { nameMissing, nameMissingOf } from './missing-files.ts';
import { createOpenedResidents } from './opened-residents.ts';
import { requireThread, resolveThreadId } from './read-threads.ts';
import { ResidentBlockedError, ThreadActiveError, ThreadDroppedError } from './resident-errors.ts';
import { createResidentReader } from './residents-api.ts';

const FIRE_EVERY_MS = 2000;
const ACTIVE = ['queued', 'running', 'waiting'] as const;
const MAX_NAMED_RESIDENTS = 100;

export interface ServedResidents {
  readonly api: ResidentsApi;
  /** Fires what is due (schedules.ts). */
  readonly task: TimedTask;
  status(): Pick<DaemonStatus, 'residents' | 'threads' | 'schedules'>;
  /** The configuration may have changed. Resolves with the keys that have. Throws TrustRequiredError. */
  reload(next: ResolvedConfig): Promise<readonly string[]>;
  /** Idempotent; nothing is left when it resolves. */
  stop(): Promise<void>;
}

export interface ResidentRooms {
  readonly engine: Engine;
  readonly gate: Gate;
  /** What the files said when they were last read. */
  readConfig(): ResolvedConfig;
  /** The project as this process's own caller sees it now. */
  openCaisson(env: Record<string, string>): Promise<Caisson>;
  isServing(): boolean;
}

export async function serveResidents(rooms: ResidentRooms): Promise<ServedResidents> {
  const { engine, gate, isServing } = rooms;
  let config = rooms.readConfig();
  const opened = createOpenedResidents();
  let isStopped = false;
  let lastReload: Promise<unknown> = Promise.resolve();
  const schedules = createSchedules({ ...engine, seed: engine.config.projectRoot });
  const start: StartThread = (start) => opened.require().threads.start({ causes: [], ...start });
  const openDeclared = async (): Promise<void> => {
    if (!isNeeded(config, engine) || isStopped || opened.find() !== null) return;
    const { openResidents } = await import('./open-residents.ts');
    await opened.open(() => openResidents({ ...rooms, readConfig: () => config }));
  };
  const setSchedules = async (): Promise<void> =>
    schedules.set(
      (await readSchedules(config)).map((schedule) => ({
        ...schedule,
        start: (slot: FiredSlot) => gate.enter(() => startSlot(rooms, schedule, slot, start)),
      })),
    );
  const reload = async (next: ResolvedConfig): Promise<readonly string[]> => {
    await requireTrust(next, ['senses', 'workflows', 'schedules']);
    config = next;
    const before = opened.find();
    await openDeclared();
    await setSchedules();
    if (before !== null) return before.reload();
    return (opened.find()?.residents() ?? []).map(({ key }) => key);
  };
  await openDeclared().catch((error: unknown) => warnUnopened(engine, error)); // runs are served all the same
  await setSchedules();
  return {
    api: createApi(rooms, {
      ...{ config: () => config, residents: opened.find, require: opened.require },
      ...{ start, list: schedules.list },
    }),
    task: {
      name: 'schedules',
      everyMs: FIRE_EVERY_MS,
      run: () => (isServing() ? schedules.fireDue() : undefined),
    },
    status: () => describe(engine, opened.find(), schedules.list()),
    reload(next) {
      const reloaded = lastReload.then(() => reload(next)); // one after the other: the first opens the residents
      lastReload = reloaded.catch(() => undefined);
      return reloaded;
    },
    async stop() {
      isStopped = true;
      await opened.find()?.stop(); // a reload that is under way ends with it
      await lastReload;
      await opened.find()?.stop(); // one that the reload has opened
    },
  };
}

/** Threads that have not ended can be cancelled, also when their workflow is not declared any more. */
function isNeeded({ senses, workflows }: ResolvedConfig, { ledger }: Engine): boolean {
  if (Object.keys(senses).length + Object.keys(workflows).length > 0) return true;
  return ledger.threads({ status: ACTIVE, limit: 1 }).length > 0;
}

function warnUnopened({ bus }: Engine, error: unknown): void {
  const message = `residents do not work: ${(error as Error).message}. To try again: caisson reload`;
  bus.emit(BusTopic.WARNING, { source: 'residents', message });
}

type StartThread = (
  start: Omit<Parameters<Residents['threads']['start']>[0], 'causes'>,
) => Promise<ThreadStart>;

/** A run, or a thread, whose key is the slot. */
async function startSlot(
  rooms: ResidentRooms,
  { settings }: Awaited<ReturnType<typeof readSchedules>>[number],
  fired: FiredSlot,
  start: StartThread,
): ReturnType<Schedule['start']> {
  const { name, workflow } = settings;
  const { slot, key, isCatchUp } = fired;
  if (workflow === undefined) {
    const caisson = await rooms.openCaisson(definedOnly(readHostEnvironment()));
    const { runId } = await caisson.dispatch(toScheduledRequest(settings, fired));
    return { runId };
  }
  const trigger = { kind: 'schedule', schedule: name, slot, ...(isCatchUp ? { isCatchUp } : {}) } as const;
  const outcome = await start({ workflow, trigger, payload: null, idempotencyKey: key });
  if ('threadId' in outcome) return outcome;
  throw new ThreadDroppedError(workflow, outcome.dropped);
}

interface Served {
  config(): ResolvedConfig;
  residents(): Residents | null;
  /** Throws ResidentsClosedError. */
  require(): Residents;
  readonly start: StartThread;
  list(): ReturnType<ReturnType<typeof createSchedules>['list']>;
}

function createApi({ engine, gate }: ResidentRooms, served: Served): ResidentsApi {
  const { ledger } = engine;
  const find = (thread: string): string => resolveThreadId(ledger, thread);
  const onKey = (act: (residents: Residents, key: string) => Promise<void>) => async (given: string) => {
    const key = findResidentKey(served.config(), given);
    await act(served.require(), key);
  };
  const reader = createResidentReader(engine);
  const markHeld = <T extends ThreadRow>(thread: T): T => ({
    ...thread,
    ...definedOnly({ heldBy: describeHold(served.residents(), thread) ?? undefined }),
  });
  const root = engine.config.projectRoot;
  return {
    ...reader,
    threads: async (filter) => (await reader.threads(filter)).map(markHeld),
    thread: async (thread) => markHeld(await reader.thread(thread)),
    logs: (...given) => createResidentReader({ ...engine, config: served.config() }).logs(...given),
    senses: async () => (served.residents()?.senses() ?? []).map((sense) => nameMissing(root, sense)),
    workflows: async () => (served.residents()?.workflows() ?? []).map((flow) => nameMissing(root, flow)),
    list: async () => nameMissingOf(root, served.residents()),
    schedules: async () => served.list(),
    trigger: (sense) =>
      gate.enter(async () => {
        requireSense(served.config(), sense);
        const { signals, ...outcome } = await served.require().trigger(sense);
        return { ...outcome, signals: [...signals] };
      }),
    startThread: (workflow, payload = null, options = {}) =>
      gate.enter(async () => {
        requireWorkflow(served.config(), workflow);
        const { idempotencyKey: key } = options;
        const idempotencyKey = key === undefined ? undefined : `user:${key}`; // never that of a schedule or signal
        const trigger = { kind: 'user' } as const;
        return await served.start({ workflow, trigger, payload, ...definedOnly({ idempotencyKey }) });
      }),
    async cancelThread(thread) {
      const { threadId, endedAt } = await requireThread(ledger, find(thread));
      return endedAt === undefined && (await served.require().threads.cancel(threadId));
    },
    resumeThread: (thread) =>
      gate.enter(async () => {
        const { threadId, workflow, payload, endedAt } = await requireThread(ledger, find(thread));
        if (endedAt === undefined)
          throw new ThreadActiveError(`${threadId} has not ended`, {
            remedy: describeWait(served.residents(), { threadId, workflow }),
          });
        requireWorkflow(served.config(), workflow);
        return await served.start({ workflow, trigger: { kind: 'user' }, payload, continues: threadId });
      }),
    reset: onKey((residents, key) => residents.reset(key)),
    drain: onKey((residents, key) => residents.drain(key)),
    restart: onKey(async (residents, key) => {
      if (residents.residents().some((each) => each.key === key && each.state === 'blocked'))
        throw new ResidentBlockedError(key);
      await residents.restart(key);
    }),
  };
}

function describe(
  { ledger, config: { projectRoot } }: Engine,
  residents: Residents | null,
  schedules: NonNullable<DaemonStatus['schedules']>,
): Pick<DaemonStatus, 'residents' | 'threads' | 'schedules'> {
  const count = (status: (typeof ACTIVE)[number]): number => ledger.threads({ status }).length;
  return {
    ...(residents === null
      ? {}
      : {
          residents: nameMissingOf(projectRoot, residents).slice(0, MAX_NAMED_RESIDENTS),
          threads: {
            ...{ queued: count('queued'), running: count('running'), waiting: count('waiting') },
            ...definedOnly({ held: countHeld(residents, ledger) || undefined }),
          },
        }),
    ...(schedules.length === 0 ? {} : { schedules }),
  };
}
