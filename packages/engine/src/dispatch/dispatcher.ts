/** The coordinator, kept small: it moves a run from stage to stage and owns what is under way in this host. */
import { shareTurn, takeTurn } from '@caisson/ground';
import { FIRST_EPOCH, isRecord, type DispatchResult } from '@caisson/protocol';
import {
  DEFAULT_POOL,
  LedgerGoneError,
  NO_ATTEMPT,
  RunTakenOverError,
  type RunRecord,
} from '../ledger/index.ts';
import { backoffMs, createPrefixedId, pause } from '../platform/index.ts';
import {
  adoptAttempt,
  describeBreak,
  demandOwner,
  describeActiveRun,
  awaitDelivery,
  leaveRun,
  stopRun,
  type ActiveRun,
  type AwaitTurn,
  place,
  freeFolder,
  failureOf,
  runAttempt,
  cancelWithoutWorker,
  settleWithoutWorker,
  untilSettled,
  withReserve,
} from '../attempt/index.ts';
import {
  admit,
  type AdoptableRun,
  type AdmittedRun,
  type Attachment,
  type Dispatcher,
  type DispatchRequest,
  type RunHandle,
  type DispatchRooms,
  RunLeftError,
  RunUnsettledError,
} from '../admission/index.ts';
import { describeRun } from './describe-run.ts';
import { createQueueWatch } from './queue-watch.ts';
import { readEvents } from './read-events.ts';
import { recoverRun } from '../recovery/index.ts';

export function createDispatcher(ownRooms: DispatchRooms): Dispatcher {
  const active = new Map<string, { run: ActiveRun; handle: RunHandle }>();
  const closing = new AbortController();
  let isLeaving = false;
  const awaitTurn = createQueueWatch(ownRooms);

  /** Owns the run until `drive` has brought it to its end. */
  const own = (
    { runId, record, epoch }: Pick<AdmittedRun, 'runId'> & Pick<ActiveRun, 'record' | 'epoch'>,
    rooms: DispatchRooms,
    drive: (entry: ActiveRun) => Promise<void>,
  ): RunHandle => {
    const driven = { record, epoch, isAdopting: epoch > FIRST_EPOCH, closing: closing.signal };
    const entry = describeActiveRun({ run: { runId }, ...driven, acceptedMs: rooms.clock.monotonicMs() });
    if (entry.isShutdown) stopRun(entry, { force: false });
    const ended = driveToEnd(rooms, entry, () => drive(entry)).finally(() => {
      active.delete(runId);
      entry.over.abort();
    });
    ended.catch(() => undefined); // a reader of the events gets it from `ended` all the same
    const handle = createHandle(entry, ended, rooms);
    active.set(runId, { run: entry, handle });
    return handle;
  };
  const stopAll = async (runs: readonly ActiveRun[], { force = false } = {}): Promise<void> => {
    closing.abort();
    for (const run of runs) shutDownRun(run, { force });
    await Promise.allSettled([...active.values()].map(({ handle }) => handle.ended));
  };
  const listActive = (): ActiveRun[] => [...active.values()].map(({ run }) => run);

  return {
    async dispatch(request: DispatchRequest, attachment?: Attachment, rooms = ownRooms) {
      await takeTurn();
      const isCommand = isRecord(request) && request.argv !== undefined; // its shape is not checked yet
      rooms.compute.spares.warm({ usesNetwork: !isCommand }); // starts while admission checks the task
      const run = { ...(await admit(rooms, request)), attachment };
      const record = rooms.recorder.of(run.runId, run.trace, FIRST_EPOCH);
      const drive = (entry: ActiveRun): Promise<void> => driveRun(rooms, entry, run, awaitTurn);
      return own({ ...run, record, epoch: FIRST_EPOCH }, rooms, drive);
    },
    active: (runId) => active.get(runId)?.handle ?? null,
    underWay: () => [...active.values()].map(({ handle }) => handle),
    closing: closing.signal,
    async adopt(left) {
      if (closing.signal.aborted) return false;
      const claimed = await claimRun(ownRooms, left);
      if (isLeaving) return false; // the next daemon claims it from this host
      own({ ...left.row, ...claimed }, ownRooms, (entry) => adoptAttempt(ownRooms, entry, left));
      return true;
    },
    leave() {
      isLeaving = true;
      return stopAll(listActive().filter((run) => run.isSettling || !leaveRun(run)));
    },
    shutdown: (options) => stopAll(listActive(), options),
  };
}

/** What a person stopped before stays cancelled. */
function shutDownRun(run: ActiveRun, how: { force: boolean }): void {
  run.isShutdown ||= !run.abort.signal.aborted;
  stopRun(run, how);
}

/**
 * From here on this host owns the run, and the one before can write nothing of it. A claim that failed behind its record is
 * repeated without it.
 */
async function claimRun(
  { recorder, ledger, hostId: host }: DispatchRooms,
  {
    row: { runId, pool = DEFAULT_POOL, host: previousHost, epoch: before = FIRST_EPOCH },
    launched,
  }: AdoptableRun,
): Promise<{ record: RunRecord; epoch: number }> {
  const isRecorded = previousHost === host;
  const epoch = isRecorded ? before : before + 1;
  const record = recorder.of(runId, launched.trace, epoch);
  if (!isRecorded)
    await record.append('run.adopted', { host, epoch, previousHost }, { attempt: launched.attempt });
  await ledger.whenFree(() => ledger.leases.transfer(runId, host, pool));
  return { record, epoch };
}

/**
 * Slot and folder are free for others. A run whose ending could not be written keeps them until we are dead: without
 * its slot it would be in the queue again.
 */
async function releaseRun(rooms: DispatchRooms, entry: ActiveRun): Promise<void> {
  const { ledger } = rooms;
  const { runId } = entry.run;
  const release = async (): Promise<void> => {
    const row = ledger.run(runId);
    if (row?.ending === undefined || row.host !== rooms.hostId) return;
    await entry.record.flush(); // warnings after the ending
    await shareTurn();
    await ledger.whenFree(() => {
      ledger.leases.release(runId);
      freeFolder(rooms, runId);
    });
  };
  await untilSettled(rooms, entry, 0, () => withReserve(rooms, release)).catch((error: unknown) =>
    entry.record.publish('warning', { source: 'ledger', message: (error as Error).message }, 0),
  );
}

function createHandle(
  entry: ActiveRun,
  ended: Promise<DispatchResult>,
  { clock, feed }: Pick<DispatchRooms, 'clock' | 'feed'>,
): RunHandle {
  return {
    runId: entry.run.runId,
    async *events(options) {
      yield* readEvents(feed, { ...options, runId: entry.run.runId, until: entry.over.signal });
      if (entry.isLost) await ended; // another host drives it: it goes on there
    },
    ended,
    cancel(options = {}) {
      entry.isInterrupt = options.interrupt ?? false;
      stopRun(entry, { force: options.force ?? false });
    },
    async send(body) {
      const messageId = createPrefixedId('message', clock);
      await entry.record.append('channel.sent', { messageId, body }, NO_ATTEMPT);
      const message = { kind: 'message' as const, id: messageId, body };
      if (entry.followed === null) entry.unsent.push(message);
      else entry.followed.supervision.send(message);
      return messageId;
    },
  };
}

async function driveToEnd(
  rooms: DispatchRooms,
  entry: ActiveRun,
  drive: () => Promise<void>,
): Promise<DispatchResult> {
  try {
    try {
      await drive().catch((error: unknown) => endBroken(rooms, entry, error as Error));
    } finally {
      await releaseRun(rooms, entry); // what follows is for the caller alone
    }
    return await describeRun(rooms, entry.run.runId);
  } catch (error) {
    entry.isLost = error instanceof RunLeftError || error instanceof RunTakenOverError;
    throw error;
  } finally {
    if (!entry.isLost) await awaitDelivery(entry); // what a lost one prints goes to its log
  }
}

/** Another process settles the run, or drives it. */
const IS_NOT_OURS = [RunUnsettledError, LedgerGoneError, RunTakenOverError, RunLeftError];

/** D1 also when a stage fails. If a worker was launched there may be work: it is settled as recovery would do it. */
async function endBroken(rooms: DispatchRooms, entry: ActiveRun, error: Error): Promise<void> {
  if (IS_NOT_OURS.some((kind) => error instanceof kind)) throw error;
  const { ledger } = rooms;
  const row = ledger.run(entry.run.runId);
  if (row === null || row.ending !== undefined) return;
  demandOwner(rooms, row.runId);
  const { attempt } = row;
  if (ledger.attempts(row.runId).some(({ launchedAt }) => launchedAt !== undefined)) {
    const left = { row, why: describeBreak(error), epoch: entry.epoch };
    return untilSettled(rooms, entry, attempt, async (mayPass) => {
      demandOwner(rooms, row.runId);
      await entry.record.flush(); // before the ending, not after it
      await recoverRun(rooms, left, mayPass);
    });
  }
  const retry = { attemptsLeft: 0, delayMs: 0 };
  await settleWithoutWorker(rooms, entry, { attempt, failure: failureOf(error), retry });
}

async function driveRun(
  rooms: DispatchRooms,
  entry: ActiveRun,
  run: AdmittedRun,
  awaitTurn: AwaitTurn,
): Promise<void> {
  const { record, abort } = entry;
  if ((await place(rooms, run, record, abort.signal, awaitTurn)) === 'aborted')
    return cancelWithoutWorker(rooms, entry);
  for (let attempt = 1; ; attempt += 1) {
    const attemptsLeft = run.retries - (attempt - 1);
    const delayMs = backoffMs(attempt - 1);
    const outcome = await runAttempt(rooms, entry, run, attempt, { attemptsLeft, delayMs });
    if (outcome === 'ended') return;
    await pause(rooms.clock, delayMs, abort.signal);
    if (abort.signal.aborted) return cancelWithoutWorker(rooms, entry);
  }
}
