/** The coordinator, kept small: it moves a run from stage to stage and owns what is under way in this host. */
import type { Clock } from '@caisson/ground';
import type { DispatchResult, Failure } from '@caisson/protocol';
import { WorkerStartError, type WorkerProcess } from '../compute/index.ts';
import { LedgerGoneError } from '../ledger/index.ts';
import { backoffMs, createPrefixedId } from '../platform/index.ts';
import { admit } from './admit.ts';
import { orWarn } from './clean-up.ts';
import type {
  AdmittedRun,
  Dispatcher,
  DispatchRequest,
  DispatchRooms,
  LiveEvent,
  RunHandle,
} from './contract.ts';
import { describeRun } from './describe-run.ts';
import { findEnding } from './find-ending.ts';
import { findUnreadableJob } from './find-unreadable-job.ts';
import { follow, type FollowedAttempt } from './follow.ts';
import { launch } from './launch.ts';
import { place } from './place.ts';
import { folderLease, prepare, PrepareFailure, type PreparedAttempt } from './prepare.ts';
import { readResult } from './read-result.ts';
import { createRunRecord, type RunRecord } from './run-record.ts';
import { createRunStream, type RunStream } from './run-stream.ts';
import { settle } from './settle.ts';
import { settleWithoutWorker } from './settle-without-worker.ts';

interface ActiveRun {
  readonly run: AdmittedRun;
  readonly record: RunRecord;
  readonly stream: RunStream;
  readonly abort: AbortController;
  /** What is under way now, if a worker is. */
  followed: FollowedAttempt | null;
  /** Messages for the worker that is not there yet. */
  readonly unsent: { kind: 'message'; id: string; body: string }[];
  isShutdown: boolean;
  isInterrupt: boolean;
}

export function createDispatcher(base: DispatchRooms): Dispatcher {
  const active = new Map<string, { run: ActiveRun; handle: RunHandle }>();
  const early = new Map<string, LiveEvent[]>();
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
      followed: null,
      unsent: [],
      isShutdown: false,
      isInterrupt: false,
    };
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
    async shutdown(options = {}) {
      for (const { run } of active.values()) {
        run.isShutdown = true;
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
function letGo({ ledger, settings }: DispatchRooms, { run, record }: ActiveRun): void {
  try {
    if (ledger.run(run.runId)?.ending !== undefined) ledger.leases.release(run.runId);
    ledger.leases.free(folderLease(settings.projectRoot), run.runId);
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

function stopRun(entry: ActiveRun, options: { force: boolean }): void {
  entry.abort.abort();
  const reason = entry.isShutdown ? 'shutdown' : entry.isInterrupt ? 'interrupt' : 'user';
  entry.followed?.supervision.stop(reason, options);
}

/** D1 also when a stage breaks: the run is told why. A ledger that cannot even take that is left to recovery. */
async function driveToEnd(rooms: DispatchRooms, entry: ActiveRun): Promise<DispatchResult> {
  const acceptedMs = rooms.clock.monotonicMs();
  const { runId } = entry.run;
  try {
    await drive(rooms, entry, acceptedMs);
  } catch (error) {
    if (rooms.ledger.run(runId)?.ending === undefined) await failBroken(rooms, entry, acceptedMs, error);
  }
  return describeRun(rooms, runId);
}

async function failBroken(
  rooms: DispatchRooms,
  entry: ActiveRun,
  acceptedMs: number,
  error: unknown,
): Promise<void> {
  const durationMs = Math.round(rooms.clock.monotonicMs() - acceptedMs);
  const attempt = rooms.ledger.run(entry.run.runId)?.attempt ?? 0;
  await entry.record
    .append('dispatch.failed', { durationMs, failure: failureOf(error) }, { attempt })
    .catch(() => {
      throw error;
    });
}

async function drive(rooms: DispatchRooms, entry: ActiveRun, acceptedMs: number): Promise<void> {
  const { run, record, abort } = entry;
  if ((await place(rooms, run, record, abort.signal)) === 'aborted') {
    await cancelBeforeWorker(rooms, entry, acceptedMs);
    return;
  }
  for (let attempt = 1; ; attempt += 1) {
    const attemptsLeft = run.retries - (attempt - 1);
    const delayMs = backoffMs(attempt - 1);
    const outcome = await runAttempt(rooms, entry, attempt, { attemptsLeft, delayMs }, acceptedMs);
    if (outcome === 'ended') return;
    await pause(rooms, delayMs, abort.signal);
    if (abort.signal.aborted) {
      await cancelBeforeWorker(rooms, entry, acceptedMs);
      return;
    }
  }
}

async function runAttempt(
  rooms: DispatchRooms,
  entry: ActiveRun,
  attempt: number,
  retry: { attemptsLeft: number; delayMs: number },
  acceptedMs: number,
): Promise<'retry' | 'ended'> {
  const { run, record } = entry;
  const { signal } = entry.abort;
  demandLedger(rooms);
  let prepared: PreparedAttempt | undefined;
  let worker: WorkerProcess;
  const startedMs = rooms.clock.monotonicMs();
  try {
    prepared = await prepare(rooms, run, record, attempt, signal);
    signal.throwIfAborted();
    worker = await launch(rooms, run, record, prepared);
  } catch (error) {
    await prepared?.discard();
    if (signal.aborted) {
      await cancelBeforeWorker(rooms, entry, acceptedMs, attempt);
      return 'ended';
    }
    return settleWithoutWorker(rooms, run, record, {
      attempt,
      retry,
      failure: failureOf(error),
      durationMs: rooms.clock.monotonicMs() - acceptedMs,
    });
  }
  const followed = follow(rooms, run, record, prepared, worker);
  entry.followed = followed;
  for (const message of entry.unsent.splice(0)) followed.supervision.send(message);
  if (entry.abort.signal.aborted) stopRun(entry, { force: false });
  const end = await followed.ended;
  entry.followed = null;
  const release = async (): Promise<void> => {
    await prepared.network?.close();
    await prepared.limits.release();
  };
  if (!rooms.ledger.isThere()) await release();
  demandLedger(rooms);
  const found = await readResult(prepared.paths.result, { runId: run.runId, attempt, nonce: prepared.nonce });
  const ending = findEnding(found, end, prepared.limits);
  const settled = await settle(
    rooms,
    record,
    {
      remains: {
        runId: run.runId,
        attempt,
        paths: prepared.paths,
        workspace: prepared.workspace,
        release,
      },
      ending: shutdownAware(
        followed.hasStarted() ? ending : (findUnreadableJob(ending, prepared.job) ?? ending),
        entry,
      ),
      found,
      hasStarted: followed.hasStarted(),
      durationMs: Math.round(rooms.clock.monotonicMs() - startedMs),
      usage: followed.lastUsage(),
    },
    retry,
  );
  return settled.kind;
}

/** Without it nothing that follows could be told, and the folders that are gone would be made again. */
function demandLedger({ ledger }: DispatchRooms): void {
  if (!ledger.isThere()) throw new LedgerGoneError(ledger.file);
}

function shutdownAware(
  ending: ReturnType<typeof findEnding>,
  entry: ActiveRun,
): ReturnType<typeof findEnding> {
  return ending.kind === 'cancelled' && entry.isShutdown ? { kind: 'cancelled', cause: 'shutdown' } : ending;
}

function failureOf(error: unknown): Failure {
  if (error instanceof PrepareFailure) return error.failure;
  const detail = (error instanceof Error ? error.message : String(error)).slice(0, 8000);
  return { reason: error instanceof WorkerStartError ? 'crashed' : 'worker-failed', detail };
}

async function cancelBeforeWorker(
  rooms: DispatchRooms,
  entry: ActiveRun,
  acceptedMs: number,
  attempt = 0,
): Promise<void> {
  const durationMs = Math.round(rooms.clock.monotonicMs() - acceptedMs);
  const cause = entry.isShutdown ? 'shutdown' : 'user';
  await entry.record.append('dispatch.cancelled', { durationMs, cause }, { attempt });
  rooms.budget.settle(entry.run.runId, undefined);
  await orWarn(entry.record, attempt, 'evidence', () => rooms.seal(entry.run.runId));
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
