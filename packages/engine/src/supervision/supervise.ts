import { readProcess } from '@caisson/ground';
import {
  encodeNdjson,
  isTerminal,
  STEPS,
  WORKER_EXIT,
  type ControlMessage,
  type Failure,
  type WorkerLine,
} from '@caisson/protocol';
import type { WorkerProcess } from '../compute/index.ts';
import type { HealthState, Supervision, SupervisionOptions, WorkerEnd } from './contract.ts';
import { createHealthMonitor, type HealthMonitor } from './health.ts';
import { createKillLadder } from './kill-ladder.ts';
import { findSilence } from './stall-reason.ts';
import { createStallWatch, type StallWatch } from './stall-watch.ts';
import { readWorkerStream } from './worker-stream.ts';

const CHECK_MS = 500;
/** Without a line for this long, and in all. */
const DRAIN_MS = 500;
const MAX_DRAIN_MS = 30_000;
const STOPPED_MS = 1000;

/** Supervises one worker until nothing of it is left; see the contract for S1 to S5. */
export function supervise(options: SupervisionOptions): Supervision {
  const { worker, clock } = options;
  const startedMs = clock.monotonicMs();
  const seen: Seen = { stopped: null, lastWord: null, refusal: null };
  const send = (message: ControlMessage): void => {
    if (worker.control.writable) worker.control.write(encodeNdjson(message));
  };
  const ladder = createKillLadder({
    clock,
    order: (graceMs) => send(describeStop(seen, graceMs)),
    kill: () => worker.kill(),
  });
  const stop: Supervision['stop'] = (reason, how = {}) => {
    seen.stopped ??= { reason, detail: how.detail ?? '' };
    if (how.force === true) ladder.force();
    else ladder.start(options.graceMs);
  };
  const { heartbeatMs, usesModel, onHealth, onStalled } = options;
  const health = createHealthMonitor({ heartbeatMs, startedMs, onChange: onHealth });
  const stall = createStallWatch({ startedMs, heartbeatMs, usesModel, onStalled });
  listen(options, seen, { health, stall, send });
  const { wallMs, adoptedAfterMs = 0 } = options;
  const cancelDeadline = clock.setTimer(Math.max(1, wallMs - adoptedAfterMs), () =>
    stop('timeout', { detail: `no end after ${wallMs} ms` }),
  );
  const left = Promise.withResolvers<never>();
  const rest = (): void => {
    cancelDeadline();
    cancelChecks();
    ladder.cancel();
  };
  const leave = (why: Error): void => {
    rest();
    left.reject(why);
    worker.stdout.destroy();
    worker.control.destroy();
  };
  const cancelChecks = checkRegularly(options, { health, stall, stop, leave });
  const ended = worker.exited.then((exit) => {
    rest();
    return conclude(options, seen, exit);
  });
  return {
    ended: Promise.race([ended, left.promise]),
    stop,
    send,
    leave,
    setWaitingForPermission: stall.setWaitingForPermission,
  };
}

/** What is known of a worker's end before it has ended. */
interface Seen {
  stopped: WorkerEnd['stopped'];
  lastWord: WorkerLine | null;
  refusal: Failure | null;
}

interface Watches {
  readonly health: HealthMonitor;
  readonly stall: StallWatch;
}

function describeStop({ stopped }: Seen, graceMs: number): ControlMessage {
  const detail = stopped?.detail ? { detail: stopped.detail } : {};
  return { kind: 'stop', reason: stopped?.reason ?? 'user', graceMs, ...detail };
}

/** A worker whose header matches gets `go` once it is ready; every line is a sign of life. */
function listen(
  options: SupervisionOptions,
  seen: Seen,
  { health, stall, send }: Watches & Pick<Supervision, 'send'>,
): void {
  const { worker, clock } = options;
  const refuse = (failure: Failure): void => {
    seen.refusal ??= failure;
    worker.kill();
  };
  const release = async (): Promise<void> => {
    try {
      await options.onReady();
      send({ kind: 'go' });
    } catch (error) {
      refuse({ reason: 'worker-failed', detail: (error as Error).message, step: STEPS.ready });
    }
  };
  readWorkerStream(worker.stdout, {
    onHeader(header) {
      const failure = options.onHeader(header);
      if (failure !== null) refuse(failure);
    },
    onLine(said) {
      if (said.kind === 'worker.ready' && seen.refusal === null && options.adoptedAfterMs === undefined)
        void release();
      const nowMs = clock.monotonicMs();
      const line = said.kind === 'heartbeat' ? { ...said, counters: options.countBeat(said.counters) } : said;
      health.beat(nowMs);
      stall.setModelFailing(options.isModelFailing());
      if (line.kind === 'heartbeat') stall.beat(nowMs, line.counters);
      else if (!isOfNetwork(line)) stall.progress(nowMs);
      if (isTerminal(line.kind)) seen.lastWord = line;
      options.onLine(line);
    },
    onMalformed: options.onMalformed,
  });
}

/** Counted with the beats, which know whether it moved the agent on: a request that fails again did not. */
function isOfNetwork(line: WorkerLine): boolean {
  switch (line.kind) {
    case 'network.connection':
    case 'model.called':
    case 'model.usage':
      return true;
    case 'policy.denied':
      return line.denial.layer === 'network';
    default:
      return false;
  }
}

/** Returns a function that ends the checks. */
function checkRegularly(
  options: SupervisionOptions,
  { health, stall, stop, leave }: Watches & Pick<Supervision, 'stop' | 'leave'>,
): () => void {
  const { worker, clock, stallTimeoutMs } = options;
  let lastCheckMs = clock.monotonicMs();
  return every(CHECK_MS, options, () => {
    const nowMs = clock.monotonicMs();
    const lateMs = nowMs - lastCheckMs - CHECK_MS;
    lastCheckMs = nowMs;
    const takeover = options.findTakeover();
    if (takeover !== null) return leave(takeover);
    if (lateMs > STOPPED_MS) {
      health.excuse(lateMs); // S4: we were stopped; the worker's lines of that time are still in the pipe
      stall.excuse(lateMs);
      return;
    }
    if (!options.canRecord())
      stop('shutdown', { force: true, detail: 'the run cannot be recorded any more' });
    health.check(nowMs);
    stall.check(nowMs, isReporting(health.state) ? null : findSilence(stateOf(worker)));
    if (stallTimeoutMs !== null && stall.silentMs(nowMs) >= stallTimeoutMs)
      stop('stalled', { detail: `no progress for ${Math.round(stall.silentMs(nowMs) / 1000)} s` });
  });
}

/** S2: nothing of the tree is left. A worker that ended by itself has seen the end of its last sandbox, if it says so. */
async function conclude(
  options: SupervisionOptions,
  seen: Seen,
  exit: Awaited<WorkerProcess['exited']>,
): Promise<WorkerEnd> {
  const { worker, compute, isEnclosed } = options;
  await drained(options);
  const isProvenGone = isEnclosed && seen.stopped === null && seen.lastWord !== null && hasSeenAll(exit);
  const survivors = await compute.stop(worker.handle, { isProvenGone });
  return { ...exit, ...seen, stderrTail: worker.stderrTail(), survivors, isProvenGone };
}

/** After an error that nobody caught, something may have been under way. How an adopted worker exits is not known here. */
function hasSeenAll({ code }: Awaited<WorkerProcess['exited']>): boolean {
  return code === WORKER_EXIT.done || code === WORKER_EXIT.failed;
}

function isReporting(state: HealthState): boolean {
  return state === 'healthy' || state === 'recovered';
}

function stateOf({ handle }: WorkerProcess): string | null {
  const found = readProcess(handle.pid);
  return found?.startTime === handle.startTime ? found.state : null;
}

function every(intervalMs: number, options: SupervisionOptions, work: () => void): () => void {
  let cancel = (): void => undefined;
  let isOver = false;
  const next = (): void => {
    cancel = options.clock.setTimer(intervalMs, () => {
      work();
      if (!isOver) next();
    });
  };
  next();
  return () => {
    isOver = true;
    cancel();
  };
}

/**
 * The worker's stream may still have its last lines when it exits, and we may be slow to read them. A process that keeps
 * it open does not block us.
 */
function drained({ worker: { stdout }, clock }: SupervisionOptions): Promise<void> {
  if (stdout.readableEnded || stdout.destroyed) return Promise.resolve();
  const untilMs = clock.monotonicMs() + MAX_DRAIN_MS;
  return new Promise((resolve) => {
    let cancel = clock.setTimer(DRAIN_MS, resolve);
    stdout.on('data', () => {
      cancel();
      if (clock.monotonicMs() < untilMs) cancel = clock.setTimer(DRAIN_MS, resolve);
      else resolve();
    });
    stdout.once('end', () => {
      cancel();
      resolve();
    });
  });
}
