/** The coordinator, kept small: it moves a run from stage to stage and owns what is under way in this host. */
import type { Clock } from '@caisson/ground';
import type { DispatchResult } from '@caisson/protocol';
import { backoffMs, createPrefixedId } from '../platform/index.ts';
import { durationOf, stopRun, type ActiveRun } from './active-run.ts';
import { admit } from './admit.ts';
import type { AdmittedRun, Dispatcher, DispatchRequest, LiveEvent, RunHandle } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import { describeRun } from './describe-run.ts';
import { place } from './place.ts';
import { freeFolder } from './hold-folder.ts';
import { failureOf, runAttempt } from './run-attempt.ts';
import { createRunRecord } from './run-record.ts';
import { createRunStream } from './run-stream.ts';
import { cancelWithoutWorker } from './settle-without-worker.ts';

export function createDispatcher(base: DispatchRooms): Dispatcher {
  const active = new Map<string, { run: ActiveRun; handle: RunHandle }>();
  const early = new Map<string, LiveEvent[]>();
  const closing = new AbortController();
  const rooms: DispatchRooms = {
    ...base,
    publish(event) {
      if (event.runId !== null) {
        const found = active.get(event.runId);
        if (found) found.run.stream.push(event);
        else if (event.type === 'dispatch.accepted') early.set(event.runId, [event]);
      }
      base.publish(event);
    },
  };

  const begin = (run: AdmittedRun): RunHandle => {
    const stream = createRunStream();
    for (const event of early.get(run.runId) ?? []) stream.push(event);
    early.delete(run.runId);
    const entry: ActiveRun = {
      run,
      record: createRunRecord(rooms, run.runId, run.trace),
      stream,
      abort: new AbortController(),
      acceptedMs: rooms.clock.monotonicMs(),
      workerStartedMs: null,
      followed: null,
      unsent: [],
      isShutdown: closing.signal.aborted,
      isInterrupt: false,
    };
    if (entry.isShutdown) stopRun(entry, { force: false });
    const ended = driveToEnd(rooms, entry).finally(() => {
      letGo(rooms, entry);
      active.delete(run.runId);
      stream.end();
    });
    ended.catch(() => undefined); // who reads the events first hears of it from `ended` all the same
    const handle = createHandle(entry, ended, rooms.clock);
    active.set(run.runId, { run: entry, handle });
    return handle;
  };

  return {
    async dispatch(request: DispatchRequest) {
      rooms.compute.warm(); // starts while admission looks at the task
      return begin(await admit(rooms, request));
    },
    active: (runId) => active.get(runId)?.handle ?? null,
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
 * Slot and folder are free for others. A ledger that cannot take that keeps them until we are dead, and so does a run
 * whose ending could not be written: without its slot it would stand in the queue again.
 */
function letGo(rooms: DispatchRooms, { run, record }: ActiveRun): void {
  const { ledger } = rooms;
  try {
    if (ledger.run(run.runId)?.ending !== undefined) ledger.leases.release(run.runId);
    freeFolder(rooms, run.runId);
  } catch (error) {
    record.tell('warning', { source: 'ledger', message: (error as Error).message }, 0);
  }
}

function createHandle(entry: ActiveRun, ended: Promise<DispatchResult>, clock: Clock): RunHandle {
  return {
    runId: entry.run.runId,
    events: () => entry.stream.read(),
    ended,
    cancel(options = {}) {
      entry.isInterrupt = options.interrupt ?? false;
      stopRun(entry, { force: options.force ?? false });
    },
    async send(body) {
      const messageId = createPrefixedId('message', clock);
      await entry.record.append('channel.sent', { messageId, body });
      const message = { kind: 'message' as const, id: messageId, body };
      if (entry.followed === null) entry.unsent.push(message);
      else entry.followed.supervision.send(message);
      return messageId;
    },
  };
}

/** D1 also when a stage breaks: the run is told why. A ledger that cannot even take that is left to recovery. */
async function driveToEnd(rooms: DispatchRooms, entry: ActiveRun): Promise<DispatchResult> {
  const { runId } = entry.run;
  try {
    await drive(rooms, entry);
  } catch (error) {
    if (rooms.ledger.run(runId)?.ending === undefined) await failBroken(rooms, entry, error);
  }
  return describeRun(rooms, runId);
}

async function failBroken(rooms: DispatchRooms, entry: ActiveRun, error: unknown): Promise<void> {
  const durationMs = durationOf(entry, rooms.clock.monotonicMs());
  const attempt = rooms.ledger.run(entry.run.runId)?.attempt ?? 0;
  await entry.record
    .append('dispatch.failed', { durationMs, failure: failureOf(error) }, { attempt })
    .catch(() => {
      throw error;
    });
}

async function drive(rooms: DispatchRooms, entry: ActiveRun): Promise<void> {
  const { run, record, abort } = entry;
  if ((await place(rooms, run, record, abort.signal)) === 'aborted') return cancelWithoutWorker(rooms, entry);
  for (let attempt = 1; ; attempt += 1) {
    const attemptsLeft = run.retries - (attempt - 1);
    const delayMs = backoffMs(attempt - 1);
    const outcome = await runAttempt(rooms, entry, attempt, { attemptsLeft, delayMs });
    if (outcome === 'ended') return;
    await pause(rooms, delayMs, abort.signal);
    if (abort.signal.aborted) return cancelWithoutWorker(rooms, entry);
  }
}

function pause(rooms: DispatchRooms, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = rooms.clock.setTimer(ms, resolve);
    signal.addEventListener('abort', () => {
      cancel();
      resolve();
    });
  });
}
