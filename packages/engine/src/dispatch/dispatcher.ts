/** The coordinator, kept small: it moves a run from stage to stage and owns what is under way in this host. */
import { shareTurn, takeTurn } from '@caisson/ground';
import { toEnvelope, type DispatchResult, type EventEnvelope } from '@caisson/protocol';
import { LedgerGoneError, NO_ATTEMPT, type EventFeed, type FeedQuery } from '../ledger/index.ts';
import { backoffMs, createPrefixedId, pause } from '../platform/index.ts';
import {
  awaitDelivery,
  stopRun,
  type ActiveRun,
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
  type AdmittedRun,
  type Attachment,
  type Dispatcher,
  type DispatchRequest,
  type RunHandle,
  type DispatchRooms,
  RunUnsettledError,
} from '../admission/index.ts';
import { describeRun } from './describe-run.ts';
import { recoverRun } from '../recovery/index.ts';

export function createDispatcher(own: DispatchRooms): Dispatcher {
  const active = new Map<string, { run: ActiveRun; handle: RunHandle }>();
  const closing = new AbortController();

  const begin = (run: AdmittedRun, rooms: DispatchRooms): RunHandle => {
    const entry: ActiveRun = {
      run,
      record: rooms.recorder.of(run.runId, run.trace),
      over: new AbortController(),
      abort: new AbortController(),
      acceptedMs: rooms.clock.monotonicMs(),
      workerStartedMs: null,
      followed: null,
      unsent: [],
      isShutdown: closing.signal.aborted,
      isInterrupt: false,
      closing: closing.signal,
      leave: new AbortController(),
      isSettling: false,
      delivered: Promise.resolve(),
      forced: new AbortController(),
    };
    if (entry.isShutdown) stopRun(entry, { force: false });
    const ended = driveToEnd(rooms, entry).finally(() => {
      active.delete(run.runId);
      entry.over.abort();
    });
    ended.catch(() => undefined); // a reader of the events gets it from `ended` all the same
    const handle = createHandle(entry, ended, rooms);
    active.set(run.runId, { run: entry, handle });
    return handle;
  };

  return {
    async dispatch(request: DispatchRequest, attachment?: Attachment, rooms = own) {
      await takeTurn();
      rooms.compute.spares.warm(); // starts while admission checks the task
      return begin({ ...(await admit(rooms, request)), attachment }, rooms);
    },
    active: (runId) => active.get(runId)?.handle ?? null,
    underWay: () => [...active.values()].map(({ handle }) => handle),
    closing: closing.signal,
    async shutdown(options = {}) {
      closing.abort();
      for (const { run } of active.values()) {
        run.isShutdown ||= !run.abort.signal.aborted;
        stopRun(run, { force: options.force ?? false });
      }
      await Promise.allSettled([...active.values()].map(({ handle }) => handle.ended));
    },
  };
}

/**
 * Slot and folder are free for others. A run whose ending could not be written keeps them until we are dead: without
 * its slot it would be in the queue again.
 */
async function releaseRun(rooms: DispatchRooms, entry: ActiveRun): Promise<void> {
  const { ledger } = rooms;
  const { runId } = entry.run;
  const release = async (): Promise<void> => {
    if (ledger.run(runId)?.ending === undefined) return;
    await entry.record.flush(); // warnings after the ending
    await shareTurn();
    ledger.leases.release(runId);
    freeFolder(rooms, runId);
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
    events: (options) => readEvents(feed, { ...options, runId: entry.run.runId, until: entry.over.signal }),
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

/** A feed in the form that people and programs see. */
export async function* readEvents(feed: EventFeed, query: FeedQuery): AsyncGenerator<EventEnvelope> {
  for await (const event of feed.read(query)) yield toEnvelope(event);
}

async function driveToEnd(rooms: DispatchRooms, entry: ActiveRun): Promise<DispatchResult> {
  try {
    await drive(rooms, entry).catch((error: unknown) => endBroken(rooms, entry, error as Error));
    return await describeRun(rooms, entry.run.runId);
  } finally {
    await releaseRun(rooms, entry);
    await awaitDelivery(entry);
  }
}

/** D1 also when a stage fails. If a worker was launched there may be work: it is settled as recovery would do it. */
async function endBroken(rooms: DispatchRooms, entry: ActiveRun, error: Error): Promise<void> {
  if (error instanceof RunUnsettledError || error instanceof LedgerGoneError) throw error;
  const { ledger } = rooms;
  const row = ledger.run(entry.run.runId);
  if (row === null || row.ending !== undefined) return;
  const { attempt } = row;
  if (ledger.attempts(row.runId).some(({ launchedAt }) => launchedAt !== undefined)) {
    const left = { row, why: `the host failed: ${error.message}` };
    return untilSettled(rooms, entry, attempt, async (mayPass) => {
      await entry.record.flush(); // before the ending, not after it
      await recoverRun(rooms, left, mayPass);
    });
  }
  const retry = { attemptsLeft: 0, delayMs: 0 };
  await settleWithoutWorker(rooms, entry, { attempt, failure: failureOf(error), retry });
}

async function drive(rooms: DispatchRooms, entry: ActiveRun): Promise<void> {
  const { run, record, abort } = entry;
  if ((await place(rooms, run, record, abort.signal)) === 'aborted') return cancelWithoutWorker(rooms, entry);
  for (let attempt = 1; ; attempt += 1) {
    const attemptsLeft = run.retries - (attempt - 1);
    const delayMs = backoffMs(attempt - 1);
    const outcome = await runAttempt(rooms, entry, attempt, { attemptsLeft, delayMs });
    if (outcome === 'ended') return;
    await pause(rooms.clock, delayMs, abort.signal);
    if (abort.signal.aborted) return cancelWithoutWorker(rooms, entry);
  }
}
