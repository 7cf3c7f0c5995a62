/** Threads of all workflows: who has a place, who waits for one, and who goes on after a restart (RE8). */
import type { DataOf, ThreadRow, ThreadStatus } from '@caisson/protocol';
import { isRefusal } from '../ledger/index.ts';
import { pause } from '../platform/index.ts';
import { chooseThreadId, composeAcceptance, type ThreadStart } from './accept-thread.ts';
import { createAlarms } from './alarms.ts';
import type { StepRooms } from './carry-out-step.ts';
import type { Threads } from './contract.ts';
import { createEventWatch } from './event-watch.ts';
import { cancelRecorded, endGivenUp } from './given-up-records.ts';
import { IdleWatch } from './idle-watch.ts';
import { InTurn } from './in-turn.ts';
import { persist } from './persist.ts';
import { ThreadDrive } from './thread-drive.ts';
import { ThreadRefusedError } from './thread-errors.ts';
import { showThread } from './thread-history.ts';
import { recordEnding } from './thread-records.ts';
import { keyOfWorkflow } from './plans.ts';
import type { ThreadRooms, ThreadSettings } from './thread-rooms.ts';
import { ThreadTimes } from './thread-time.ts';
import { listLivingWorkflows, readPlaces, type WorkflowPlaces } from './workflow-places.ts';

/** For what is computed when the host ends. */
const FINISH_MS = 10_000;

/** `recoverThreadsForWorker` is called once before anything else: it goes on with what an earlier host left. */
export function createThreads(rooms: ThreadRooms): Threads & ThreadCounts {
  return new LedgerThreads(rooms);
}

export interface ThreadCounts {
  /** Threads that have a place, and those that wait for one. */
  count(workflow: string): { readonly active: number; readonly queued: number };
}

type Started = Awaited<ReturnType<Threads['start']>>;

class LedgerThreads implements Threads, ThreadCounts {
  readonly #rooms: StepRooms;
  readonly #idle: IdleWatch;
  readonly #drives = new Map<string, ThreadDrive>();
  readonly #runs = new Set<Promise<void>>();
  readonly #places = new Map<string, WorkflowPlaces>();
  /** Places of a workflow are given and taken by one at a time. */
  readonly #turns = new InTurn();
  readonly #stopping = new AbortController();

  constructor(rooms: ThreadRooms) {
    const watch = createEventWatch(rooms, (error) =>
      rooms.warn(`threads wait to learn of endings: ${error.message}`),
    );
    this.#rooms = { ...rooms, alarms: createAlarms(rooms.clock), watch, times: new ThreadTimes(rooms) };
    this.#idle = new IdleWatch(rooms.clock, (threadId) => this.#park(threadId));
  }

  start(start: ThreadStart): Promise<Started> {
    return this.#turns.run(start.workflow, () => this.#start(start));
  }

  list(filter: Parameters<Threads['list']>[0] = {}): readonly ThreadRow[] {
    const { status, ...rest } = filter;
    const wanted = status === undefined ? {} : { status: status as readonly ThreadStatus[] };
    return this.#rooms.ledger.threads({ ...rest, ...wanted, newestFirst: true });
  }

  show(threadId: string) {
    return showThread(this.#rooms.ledger, threadId);
  }

  count(workflow: string): { active: number; queued: number } {
    const { active, queued } = this.#placesOf(workflow);
    return { active: active.size, queued: queued.size };
  }

  async cancel(threadId: string): Promise<boolean> {
    const { ledger } = this.#rooms;
    const row = ledger.thread(threadId);
    if (row === null || row.endedAt !== undefined) return false;
    const end = () => this.#drives.get(threadId)?.end('cancelled');
    await (end() ??
      this.#turns.run(row.workflow, async () => {
        await (end() ?? cancelRecorded(this.#rooms, threadId, this.#stopping.signal)); // it may have a place by now
        this.#release(row.workflow, threadId);
      }));
    return ledger.thread(threadId)?.status === 'cancelled';
  }

  async recoverThreadsForWorker(workflow?: string): Promise<void> {
    if (workflow === undefined) this.#rooms.times.forgetEnded();
    const workflows = workflow === undefined ? listLivingWorkflows(this.#rooms.ledger) : [workflow];
    await Promise.all(workflows.map((name) => this.#turns.run(name, () => this.#recover(name))));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#idle.stop();
    for (const drive of this.#drives.values()) drive.finish();
    const over = new AbortController();
    await Promise.race([Promise.all(this.#runs), pause(this.#rooms.clock, FINISH_MS, over.signal)]);
    over.abort();
    for (const drive of this.#drives.values()) drive.leave();
    this.#rooms.alarms.stop();
    this.#rooms.watch.stop();
    await Promise.all([...this.#runs, this.#turns.settle()]);
    await this.#rooms.times.stop();
  }

  async #start(start: ThreadStart): Promise<Started> {
    const { ledger } = this.#rooms;
    const settings = this.#rooms.findWorkflow(start.workflow);
    if (settings === null) throw new ThreadRefusedError(`there is no workflow ${start.workflow}`);
    if (this.#stopping.signal.aborted) throw new ThreadRefusedError('the daemon ends');
    const threadId = chooseThreadId(this.#rooms, start);
    if (ledger.thread(threadId) !== null) return { threadId };
    const accepted = composeAcceptance(ledger, start, settings);
    const { active, queued } = this.#placesOf(start.workflow);
    if (active.size < settings.concurrency && queued.size === 0) {
      await this.#append(threadId, accepted, { isStarted: true });
      this.#drive(start.workflow, threadId, false);
      return { threadId };
    }
    const refused = await this.#makeRoom(settings, queued);
    if (refused !== null) return { dropped: refused };
    await this.#append(threadId, accepted, { isStarted: false });
    queued.add(threadId);
    await this.#fill(start.workflow);
    return { threadId };
  }

  /** Why there is no room in the queue, or null. */
  async #makeRoom(
    { overflow, maxQueue }: ThreadSettings,
    queued: Set<string>,
  ): Promise<'overflow' | 'rejected' | null> {
    if (overflow === 'drop') return 'overflow';
    if (overflow === 'reject') return 'rejected';
    if (queued.size < maxQueue) return null;
    const [oldest] = queued;
    if (overflow === 'queue' || oldest === undefined) return 'overflow';
    const why = 'a newer start took its place in the queue';
    await recordEnding(this.#rooms, oldest, 'replaced', why, this.#stopping.signal);
    queued.delete(oldest);
    return null;
  }

  async #append(
    threadId: string,
    data: DataOf<'thread.accepted'>,
    { isStarted }: { readonly isStarted: boolean },
  ): Promise<void> {
    const started = isStarted ? [{ type: 'thread.started' as const, data: {} }] : [];
    const record = this.#rooms.recorder.of(threadId);
    await record.appendAll([{ type: 'thread.accepted', data }, ...started], 0);
  }

  async #recover(workflow: string): Promise<void> {
    const isDriven = (threadId: string): boolean => this.#drives.has(threadId);
    if (await endGivenUp(this.#rooms, workflow, isDriven, this.#stopping.signal))
      this.#places.delete(workflow); // read again
    if (this.#stopping.signal.aborted || this.#rooms.findWorkflow(workflow) === null) return;
    for (const threadId of this.#placesOf(workflow).active) {
      const drive = this.#drives.get(threadId);
      if (drive === undefined) this.#drive(workflow, threadId, true);
      else drive.resume();
    }
    await this.#fill(workflow);
  }

  /** Gives free places to those that wait longest. */
  async #fill(workflow: string): Promise<void> {
    const { active, queued } = this.#placesOf(workflow);
    for (const threadId of queued) {
      const settings = this.#rooms.findWorkflow(workflow);
      const { aborted } = this.#stopping.signal;
      if (aborted || settings === null || active.size >= settings.concurrency) return;
      const isBegun = await this.#begin(threadId);
      queued.delete(threadId);
      if (isBegun) this.#drive(workflow, threadId, false);
    }
  }

  /** False when it has ended meanwhile. */
  async #begin(threadId: string): Promise<boolean> {
    const record = this.#rooms.recorder.of(threadId);
    const begin = () => record.append('thread.started', {}, { attempt: 0 });
    try {
      await persist(this.#rooms, this.#stopping.signal, begin);
      return true;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.#rooms.ledger.thread(threadId)?.endedAt === undefined; // started before
    }
  }

  #drive(workflow: string, threadId: string, isRecovered: boolean): void {
    const row = this.#rooms.ledger.thread(threadId);
    if (row === null) return;
    this.#placesOf(workflow).active.add(threadId);
    const drive: ThreadDrive = new ThreadDrive(this.#rooms, row, () => this.#lookIdle(drive));
    this.#drives.set(threadId, drive);
    const run = drive.run({ isRecovered }).then(() => {
      this.#drives.delete(threadId);
      this.#lookIdle(drive);
      this.#runs.delete(run);
      if (!this.#stopping.signal.aborted) this.#release(workflow, threadId);
    });
    this.#runs.add(run);
  }

  /** Its place is free. */
  #release(workflow: string, threadId: string): void {
    const { active, queued } = this.#placesOf(workflow);
    queued.delete(threadId);
    if (this.#rooms.ledger.thread(threadId)?.endedAt !== undefined) active.delete(threadId);
    void this.#turns
      .run(workflow, () => this.#fill(workflow))
      .catch((error: unknown) =>
        this.#rooms.warn(`threads of ${workflow} wait: ${(error as Error).message}`),
      );
  }

  #lookIdle(drive: ThreadDrive): void {
    if (this.#stopping.signal.aborted) return;
    const isLiving = this.#drives.get(drive.threadId) === drive;
    this.#idle.look(drive.threadId, isLiving && drive.hasTurn && drive.isIdle);
  }

  /** It waits without a turn; the last one without a worker, too. */
  #park(threadId: string): void {
    const parked = this.#drives.get(threadId);
    if (parked === undefined) return;
    parked.park();
    const { workflow } = parked;
    if ([...this.#drives.values()].some((drive) => drive.workflow === workflow && drive.hasTurn)) return;
    void this.#rooms.runtime
      .evict(keyOfWorkflow(workflow))
      .catch((error: unknown) =>
        this.#rooms.warn(`the worker of ${workflow} was not evicted: ${(error as Error).message}`),
      );
  }

  #placesOf(workflow: string): WorkflowPlaces {
    const known = this.#places.get(workflow);
    if (known !== undefined) return known;
    const places = readPlaces(this.#rooms.ledger, workflow);
    this.#places.set(workflow, places);
    return places;
  }
}
