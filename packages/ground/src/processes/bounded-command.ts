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
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';

import { CaissonError } from '@caisson/protocol';

import { captureStream } from './capture-stream.ts';
import { isErrno, takeTurn } from '../platform/index.ts';

export interface BoundedCommandOptions {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  /** The child's whole environment. Default: a fixed system PATH and nothing else. */
  readonly env?: Readonly<Record<string, string>>;
  /** Written and closed. Without it the child reads end-of-file at once. */
  readonly stdin?: Buffer | string;
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

/** The program could not be started at all; nothing ran. */
export class CommandStartError extends CaissonError {
  readonly code = 'COMMAND_START_FAILED';
}

/** The environment of a command when its caller gives none. */
export const MINIMAL_COMMAND_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
};

const DEFAULT_GRACE_MS = 2000;
const DRAIN_QUIET_MS = 100;
const DRAIN_LIMIT_MS = 2000;
const UNKILLABLE_MS = 5000;
/** Node fires a timer above this at once; a longer limit has the same effect as this one. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs one program to its end and never longer than `timeoutMs` plus the grace. A non-zero exit, a signal, a
 * timeout and an abort are values; only a program that cannot be started throws {@link CommandStartError}.
 */
export async function runBounded(options: BoundedCommandOptions): Promise<BoundedCommandResult> {
  if (!(options.timeoutMs > 0)) {
    throw new RangeError(`timeoutMs must be above 0, got ${options.timeoutMs}; pass a limit.`);
  }
  const startedAt = performance.now();
  if (options.signal?.aborted === true) return resultOfNothing();
  const detached = options.detached ?? true;
  await takeTurn();
  const child = await startChild(options, detached);
  const stdout = captureStream(child.stdout, options.maxOutputBytes);
  const stderr = captureStream(child.stderr, options.maxOutputBytes);
  feedStdin(child, options.stdin);

  const ending = await waitForEnding(child, detached, options, () => stdout.seen() + stderr.seen());
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.stdin?.destroy();
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

function startChild(options: BoundedCommandOptions, detached: boolean): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void => reject(startError(options, cause));
    try {
      const child = spawn(options.file, options.args, {
        cwd: options.cwd,
        env: { ...(options.env ?? MINIMAL_COMMAND_ENV) },
        detached,
        shell: false,
        stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      });
      child.once('error', fail);
      // `spawn` comes before any byte, so that listeners added by the waiter miss nothing.
      child.once('spawn', () => resolve(child));
    } catch (error) {
      fail(error);
    }
  });
}

function startError(options: BoundedCommandOptions, cause: unknown): CommandStartError {
  const detail = cause instanceof Error ? cause.message : String(cause);
  if (options.cwd !== undefined && !existsSync(options.cwd)) {
    return new CommandStartError(
      `Could not start ${options.file}: its folder ${options.cwd} does not exist.`,
      {
        cause,
        remedy: 'Create the folder or name another one.',
      },
    );
  }
  return new CommandStartError(`Could not start ${options.file}: ${detail}.`, {
    cause,
    remedy: `Check that ${options.file} is installed, executable and on the PATH that was passed.`,
  });
}

function feedStdin(child: ChildProcess, stdin: Buffer | string | undefined): void {
  if (child.stdin === null || stdin === undefined) return;
  const pipe = child.stdin;
  // A child may end without reading its input (EPIPE); that is allowed.
  pipe.on('error', () => pipe.destroy());
  pipe.end(stdin);
}

type Ending = Pick<BoundedCommandResult, 'exitCode' | 'signal' | 'timedOut' | 'aborted'>;

function waitForEnding(
  child: ChildProcess,
  detached: boolean,
  options: BoundedCommandOptions,
  bytesSeen: () => number,
): Promise<Ending> {
  return new Promise((resolve) => {
    const graceMs = Math.min(options.graceMs ?? DEFAULT_GRACE_MS, MAX_TIMER_MS);
    let stopCause: 'timeout' | 'abort' | null = null;
    let exit: { code: number | null; signal: string | null } = { code: null, signal: null };
    let ladderTimer: NodeJS.Timeout | undefined;
    let isSettled = false;

    const settle = (): void => {
      if (isSettled) return; // B1
      isSettled = true;
      clearTimeout(ladderTimer);
      options.signal?.removeEventListener('abort', onAbort);
      resolve({
        exitCode: exit.code,
        signal: exit.signal,
        timedOut: stopCause === 'timeout',
        aborted: stopCause === 'abort',
      });
    };
    const kill = (): void => {
      sendSignal(child, detached, 'SIGKILL');
      ladderTimer = setTimeout(settle, UNKILLABLE_MS); // B1: a child that even SIGKILL cannot end (D state)
    };
    const stop = (cause: 'timeout' | 'abort'): void => {
      if (stopCause !== null || isSettled) return;
      stopCause = cause;
      clearTimeout(ladderTimer);
      sendSignal(child, detached, 'SIGTERM');
      ladderTimer = setTimeout(kill, graceMs);
    };
    const onAbort = (): void => stop('abort');

    ladderTimer = setTimeout(() => stop('timeout'), Math.min(options.timeoutMs, MAX_TIMER_MS));
    options.signal?.addEventListener('abort', onAbort, { once: true });
    if (options.signal?.aborted === true) onAbort();
    child.once('exit', (code, signal) => {
      clearTimeout(ladderTimer);
      options.signal?.removeEventListener('abort', onAbort);
      exit = { code, signal };
      if (detached) sendSignal(child, detached, 'SIGKILL'); // B2
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

function sendSignal(child: ChildProcess, detached: boolean, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(detached ? -child.pid : child.pid, signal);
  } catch (error) {
    // ESRCH: already gone. EPERM: a setuid child; the last step of the ladder settles without it.
    if (!isErrno(error, 'ESRCH') && !isErrno(error, 'EPERM')) throw error;
  }
}
