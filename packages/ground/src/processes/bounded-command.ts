/**
 * One child process from start to settled result, with a limit on everything.
 *
 * running ──exit──► draining ──pipes closed, or quiet──► settled
 *    └─timeout or abort──► terminating (SIGTERM) ──grace──► killing (SIGKILL) ──exit──► draining
 *
 * B1  The call settles exactly once, whatever the child or its descendants do.
 * B2  With `detached`, signals go to the whole process group, and what is left of the group when its leader has exited
 *     is killed. A descendant that made its own session is out of reach here; the sandbox contains those.
 * B3  Output beyond the cap is read and dropped, so that a chatty child never blocks and never grows memory.
 * B4  The environment is exactly what was passed; nothing of this process leaks into the child.
 */
import type { ChildProcess } from 'node:child_process';
import { Writable, type Stream } from 'node:stream';

import { captureStream } from './capture-stream.ts';
import { sendIfAllowed } from './send-signal.ts';
import { LIFE_FD, SECRET_FD, startChild, type StartOptions } from './start-child.ts';
import { startTimer, takeTurn } from '../platform/index.ts';

export interface BoundedCommandOptions extends StartOptions {
  readonly timeoutMs: number;
  /** Cap for stdout and, separately, for stderr. The first bytes are kept. */
  readonly maxOutputBytes: number;
  /** From SIGTERM to SIGKILL. Default 2000. */
  readonly graceMs?: number;
  readonly signal?: AbortSignal;
  /** Start in its own session and process group. Default true. */
  readonly detached?: boolean;
}

export interface BoundedCommandResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly stdoutTruncated: boolean;
  readonly stderrTruncated: boolean;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  readonly durationMs: number;
}

const DEFAULT_GRACE_MS = 2000;
const DRAIN_QUIET_MS = 100;
const DRAIN_LIMIT_MS = 2000;
const UNKILLABLE_MS = 5000;

/**
 * Runs one program to its end and never longer than `timeoutMs` plus the grace. A non-zero exit, a signal, a
 * timeout and an abort are values; only a program that cannot be started throws {@link CommandStartError}.
 */
export async function runBounded(options: BoundedCommandOptions): Promise<BoundedCommandResult> {
  const startedAt = performance.now();
  refuseNoLimit(options);
  if (options.signal?.aborted === true) return resultOfNothing();
  const child = await startFed(options);
  const stdout = captureStream(child.stdout, options.maxOutputBytes);
  const stderr = captureStream(child.stderr, options.maxOutputBytes);
  const ending = await waitForEnding(child, options, () => stdout.seen() + stderr.seen());
  closePipes(child);
  return {
    ...ending,
    stdout: stdout.bytes(),
    stderr: stderr.bytes(),
    stdoutTruncated: stdout.isTruncated(),
    stderrTruncated: stderr.isTruncated(),
    durationMs: performance.now() - startedAt,
  };
}

function resultOfNothing(): BoundedCommandResult {
  return {
    exitCode: null,
    signal: null,
    stdout: Buffer.alloc(0),
    stderr: Buffer.alloc(0),
    stdoutTruncated: false,
    stderrTruncated: false,
    timedOut: false,
    aborted: true,
    durationMs: 0,
  };
}

export function refuseNoLimit({ timeoutMs }: Pick<BoundedCommandOptions, 'timeoutMs'>): void {
  if (!(timeoutMs > 0)) throw new RangeError(`timeoutMs must be above 0, got ${timeoutMs}; pass a limit.`);
}

/** A child that has its input, and whose output nobody reads yet. */
export async function startFed(
  options: StartOptions & Pick<BoundedCommandOptions, 'detached'>,
): Promise<ChildProcess> {
  await takeTurn();
  const child = await startChild(options, isDetached(options));
  feedPipe(child.stdin, options.stdin);
  feedPipe(child.stdio[SECRET_FD], options.secret);
  return child;
}

const isDetached = ({ detached }: Pick<BoundedCommandOptions, 'detached'>): boolean => detached ?? true;

export function closePipes(child: ChildProcess): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.stdin?.destroy();
  for (const pipe of [child.stdio[SECRET_FD], child.stdio[LIFE_FD]])
    if (pipe instanceof Writable) pipe.destroy();
}

function feedPipe(pipe: Stream | null | undefined, input: Buffer | string | undefined): void {
  if (!(pipe instanceof Writable) || input === undefined) return;
  // A child may end without reading its input (EPIPE); that is allowed.
  pipe.on('error', () => pipe.destroy());
  pipe.end(input);
}

export type Ending = Pick<BoundedCommandResult, 'exitCode' | 'signal' | 'timedOut' | 'aborted'>;
type Limits = Pick<BoundedCommandOptions, 'timeoutMs' | 'graceMs' | 'signal' | 'detached'>;

/** Never rejects. `bytesSeen` counts what was read of its output. */
export function waitForEnding(
  child: ChildProcess,
  options: Limits,
  bytesSeen: () => number,
): Promise<Ending> {
  const detached = isDetached(options);
  return new Promise((resolve) => {
    let stopCause: 'timeout' | 'abort' | null = null;
    let exit: { code: number | null; signal: string | null } = { code: null, signal: null };
    let stopTimer = (): void => undefined;
    let isSettled = false;

    const settle = (): void => {
      if (isSettled) return; // B1
      isSettled = true;
      stopTimer();
      options.signal?.removeEventListener('abort', onAbort);
      resolve({
        exitCode: exit.code,
        signal: exit.signal,
        timedOut: stopCause === 'timeout',
        aborted: stopCause === 'abort',
      });
    };
    const kill = (): void => {
      signalChild(child, detached, 'SIGKILL');
      stopTimer = startTimer(UNKILLABLE_MS, settle); // B1: a child that even SIGKILL cannot end (D state)
    };
    const stop = (cause: 'timeout' | 'abort'): void => {
      if (stopCause !== null || isSettled) return;
      stopCause = cause;
      stopTimer();
      signalChild(child, detached, 'SIGTERM');
      stopTimer = startTimer(options.graceMs ?? DEFAULT_GRACE_MS, kill);
    };
    const onAbort = (): void => stop('abort');

    stopTimer = startTimer(options.timeoutMs, () => stop('timeout'));
    options.signal?.addEventListener('abort', onAbort, { once: true });
    if (options.signal?.aborted === true) onAbort();
    child.once('exit', (code, signal) => {
      stopTimer();
      options.signal?.removeEventListener('abort', onAbort);
      exit = { code, signal };
      if (detached) signalChild(child, detached, 'SIGKILL'); // B2
      settleWhenQuiet(bytesSeen, settle, () => isSettled);
    });
    child.once('close', settle);
  });
}

/**
 * A descendant that left the group may keep the pipes open for ever. What the child itself wrote is already in the
 * pipe, so one quiet interval, with a poll of the event loop after it, means that all of it has been read.
 */
function settleWhenQuiet(bytesSeen: () => number, settle: () => void, isSettled: () => boolean): void {
  const limitAt = performance.now() + DRAIN_LIMIT_MS;
  let seenBefore = bytesSeen();
  const check = (): void => {
    if (isSettled()) return;
    const seen = bytesSeen();
    if (seen === seenBefore || performance.now() >= limitAt) return settle();
    seenBefore = seen;
    waitOnce();
  };
  const waitOnce = (): void => void setTimeout(() => setImmediate(check), DRAIN_QUIET_MS);
  waitOnce();
}

/** A setuid child gets none; the last step of the ladder settles without it. */
function signalChild(child: ChildProcess, detached: boolean, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) sendIfAllowed(detached ? -child.pid : child.pid, signal);
}
