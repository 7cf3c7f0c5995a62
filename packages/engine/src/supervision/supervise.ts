import { readProcess } from '@caisson/ground';
import {
  encodeNdjson,
  isTerminal,
  type ControlMessage,
  type Failure,
  type WorkerLine,
} from '@caisson/protocol';
import type { WorkerProcess } from '../compute/index.ts';
import type { HealthState, Supervision, SupervisionOptions, WorkerEnd } from './contract.ts';
import { createHealthMonitor } from './health.ts';
import { createKillLadder } from './kill-ladder.ts';
import { findSilence } from './stall-reason.ts';
import { createStallWatch } from './stall-watch.ts';
import { readWorkerStream } from './worker-stream.ts';

const CHECK_MS = 500;
const DRAIN_MS = 500;
const STOPPED_MS = 1000;

/** Watches over one worker until nothing of it is left; see the contract for S1 to S4. */
export function supervise(options: SupervisionOptions): Supervision {
  const { worker, clock, compute } = options;
  const startedMs = clock.monotonicMs();
  let stopped: WorkerEnd['stopped'] = null;
  let lastWord: WorkerLine | null = null;
  let refusal: Failure | null = null;

  const send = (message: ControlMessage): void => {
    if (worker.control.writable) worker.control.write(encodeNdjson(message));
  };
  const ladder = createKillLadder({
    clock,
    order: (graceMs) =>
      send({
        kind: 'stop',
        reason: stopped?.reason ?? 'user',
        graceMs,
        ...(stopped?.detail ? { detail: stopped.detail } : {}),
      }),
    kill: () => worker.kill(),
  });
  const stop: Supervision['stop'] = (reason, how = {}) => {
    stopped ??= { reason, detail: how.detail ?? '' };
    if (how.force === true) ladder.force();
    else ladder.start(options.graceMs);
  };
  const health = createHealthMonitor({
    heartbeatMs: options.heartbeatMs,
    startedMs,
    onChange: options.onHealth,
  });
  const stall = createStallWatch({
    startedMs,
    heartbeatMs: options.heartbeatMs,
    usesModel: options.usesModel,
    onStalled: options.onStalled,
  });

  readWorkerStream(worker.stdout, {
    onHeader: (header) => {
      void options
        .onHeader(header)
        .catch((error: unknown): Failure => ({
          reason: 'worker-failed',
          detail: (error as Error).message,
          step: 5,
        }))
        .then((failure) => {
          if (failure === null) return send({ kind: 'go' });
          refusal = failure;
          worker.kill();
        });
    },
    onLine: (line) => {
      const nowMs = clock.monotonicMs();
      health.beat(nowMs);
      if (line.kind === 'heartbeat') stall.beat(nowMs, line.counters);
      else stall.progress(nowMs);
      if (isTerminal(line.kind)) lastWord = line;
      options.onLine(line);
    },
    onMalformed: options.onMalformed,
  });

  const cancelDeadline = clock.setTimer(options.wallMs, () =>
    stop('timeout', { detail: `no end after ${options.wallMs} ms` }),
  );
  let lastCheckMs = startedMs;
  const cancelChecks = every(CHECK_MS, options, () => {
    const nowMs = clock.monotonicMs();
    const lateMs = nowMs - lastCheckMs - CHECK_MS;
    lastCheckMs = nowMs;
    if (lateMs > STOPPED_MS) {
      health.excuse(lateMs); // S4: we were stopped; what the worker said meanwhile is still in the pipe
      stall.excuse(lateMs);
      return;
    }
    if (!options.canRecord())
      stop('shutdown', { force: true, detail: 'the run cannot be recorded any more' });
    health.check(nowMs);
    stall.check(nowMs, isHeard(health.state) ? null : findSilence(stateOf(worker)));
    if (options.stallTimeoutMs !== null && stall.silentMs(nowMs) >= options.stallTimeoutMs) {
      stop('stalled', { detail: `no progress for ${Math.round(stall.silentMs(nowMs) / 1000)} s` });
    }
  });

  const ended = worker.exited.then(async (exit): Promise<WorkerEnd> => {
    cancelDeadline();
    cancelChecks();
    ladder.cancel();
    await drained(options);
    // S2: nothing of the tree is left. A worker that ended by itself has seen the end of its last sandbox.
    const isProvenGone = options.isEnclosed && stopped === null && lastWord !== null && exit.signal === null;
    const survivors = await compute.stop(worker.handle, { isProvenGone });
    return { ...exit, stopped, lastWord, refusal, stderrTail: worker.stderrTail(), survivors };
  });
  return { ended, stop, send, setWaitingForPermission: stall.setWaitingForPermission };
}

function isHeard(state: HealthState): boolean {
  return state === 'healthy' || state === 'recovered';
}

function stateOf({ handle }: WorkerProcess): string | null {
  const found = readProcess(handle.pid);
  return found?.startTime === handle.startTime ? found.state : null;
}

function every(intervalMs: number, options: SupervisionOptions, work: () => void): () => void {
  let cancel = (): void => undefined;
  const next = (): void => {
    cancel = options.clock.setTimer(intervalMs, () => {
      work();
      next();
    });
  };
  next();
  return () => cancel();
}

/** The worker's stream may still hold its last lines when it exits; a process that holds it open does not hold us. */
function drained(options: SupervisionOptions): Promise<void> {
  const { stdout } = options.worker;
  if (stdout.readableEnded || stdout.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = options.clock.setTimer(DRAIN_MS, resolve);
    stdout.once('end', () => {
      cancel();
      resolve();
    });
  });
}
