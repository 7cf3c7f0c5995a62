/**
 * One child process whose stdout is read while it runs. The child waits while its reader works, so that of any amount of
 * output no more than a pipe is in memory. B1 to B4 of `bounded-command.ts` hold, except that output is never dropped.
 *
 * T1  The time limit is one of each wait for more output. The reader's own time does not count.
 * T2  A reader that stops early ends the child, and has not stopped before the child is gone.
 */
import type { ChildProcess } from 'node:child_process';

import {
  closePipes,
  refuseNoLimit,
  startFed,
  waitForEnding,
  type BoundedCommandOptions,
  type Ending,
} from './bounded-command.ts';
import { captureStream } from './capture-stream.ts';
import { startTimer } from '../platform/index.ts';

export interface StreamedCommandOptions extends Omit<BoundedCommandOptions, 'maxOutputBytes'> {
  /** Cap for stderr. The first bytes are kept. */
  readonly maxErrorBytes: number;
}

export interface StreamedCommandResult extends Ending {
  readonly stderr: Buffer;
}

/** Yields stdout piece by piece; gives `onEnd` how the program ended, unless the reader stopped before. */
export async function* streamCommand(
  options: StreamedCommandOptions,
  onEnd: (result: StreamedCommandResult) => void,
): AsyncGenerator<Buffer, void> {
  refuseNoLimit(options);
  const stop = new AbortController();
  let isLate = false;
  const stopLate = (): void => {
    isLate = true;
    stop.abort();
  };
  const signal = AbortSignal.any([stop.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const child = await startFed(options);
  const stderr = captureStream(child.stderr, options.maxErrorBytes);
  const ended = waitForEnding(child, { ...options, signal, timeoutMs: Infinity }, stderr.seen);
  // A descendant may keep the pipe open for ever.
  signal.addEventListener('abort', () => void ended.then(() => closePipes(child)));
  try {
    yield* readPieces(child, { signal, timeoutMs: options.timeoutMs, onLate: stopLate });
    const ending = await ended;
    onEnd({ ...ending, timedOut: isLate, aborted: ending.aborted && !isLate, stderr: stderr.bytes() });
  } finally {
    stop.abort(); // T2
    await ended;
    closePipes(child);
  }
}

interface Waiting {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  onLate(): void;
}

async function* readPieces(
  { stdout }: ChildProcess,
  { signal, timeoutMs, onLate }: Waiting,
): AsyncGenerator<Buffer, void> {
  let stopTimer = startTimer(timeoutMs, onLate);
  try {
    for await (const piece of (stdout ?? []) as AsyncIterable<Buffer>) {
      stopTimer(); // T1
      yield piece;
      stopTimer = startTimer(timeoutMs, onLate);
    }
  } catch (error) {
    if (!signal.aborted) throw error; // else we closed the pipe
  } finally {
    stopTimer();
  }
}
