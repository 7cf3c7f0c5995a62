/**
 * A thread with the user's code, as the main thread sees it. Whatever the code does (throws, exits, exhausts its heap), the
 * thread has exactly one end, with a reason; one that cannot be ended takes the process with it.
 */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { isRecord, type GuestFailure } from '@caisson/protocol';
import { describeThrown } from './describe-thrown.ts';
import type { PinnedFileStore } from './pinned-files.ts';
import { readThreadLine } from './read-thread-line.ts';
import type { PinnedFiles, ThreadLine, ThreadOrder, ThreadStart } from './thread-messages.ts';
import { createTickets, type Tickets } from './tickets.ts';

/** A thread that is terminated is gone in a moment, unless a system call holds it. */
const END_LIMIT_MS = 1000;
const YOUNG_MB = 16;

export interface UserThread {
  readonly tickets: Tickets;
  post(order: ThreadOrder): void;
  /** Gets what it says; its owner replaces it. */
  onLine: (line: ThreadLine) => void;
  /** Ends it; resolves when it is gone. */
  end(): Promise<void>;
  /** Resolves with why it is gone. Not for each of many uses: what waits for it is kept as long as the thread. */
  readonly ended: Promise<GuestFailure>;
  /** Why it is gone, once it is. `crashed`: it could not be started. */
  failure(): GuestFailure | null;
  /** Called when it is gone; its owner replaces it. */
  onEnded: (failure: GuestFailure) => void;
}

export interface ThreadOptions {
  readonly start: Omit<ThreadStart, 'tickets'>;
  readonly heapBytes: number;
  readonly pinned: PinnedFileStore;
  /** It could not be ended. */
  onStuck(): void;
}

export function startUserThread({ start, heapBytes, pinned, onStuck }: ThreadOptions): UserThread {
  const tickets = createTickets();
  const worker = startWorker({ ...start, tickets: tickets.memory, pinned: pinned.files }, heapBytes);
  if (worker instanceof Error) return notStarted(worker, tickets);
  let [thrown, gone]: [GuestFailure | null, GuestFailure | null] = [null, null];
  worker.on('error', (error) => (thrown ??= describeDeath(error)));
  worker.on('messageerror', () => undefined); // as if it had said nothing
  const ended = new Promise<GuestFailure>((resolve) => {
    worker.once('exit', (code) => {
      gone = thrown ?? { kind: 'exited', detail: `it ended its own thread with code ${code}` };
      resolve(gone);
      thread.onEnded(gone);
    });
  });
  const thread: UserThread = {
    tickets,
    post: (order) => worker.postMessage(JSON.stringify(order)),
    onLine: () => undefined,
    async end() {
      const stuck = setTimeout(onStuck, END_LIMIT_MS);
      await worker.terminate();
      clearTimeout(stuck);
    },
    ended,
    failure: () => gone,
    onEnded: () => undefined,
  };
  worker.on('message', (text: unknown) => {
    const line = readThreadLine(text, start.name);
    if (line?.kind === 'pinned') pinned.add(line);
    else if (line !== null) thread.onLine(line);
  });
  return thread;
}

/** The system may refuse another thread: its sandbox has a limit of them. */
function startWorker(workerData: ThreadStart & { pinned: PinnedFiles }, heapBytes: number): Worker | Error {
  try {
    return new Worker(fileURLToPath(import.meta.url), {
      workerData,
      name: workerData.name,
      argv: [],
      resourceLimits: {
        maxOldGenerationSizeMb: Math.max(YOUNG_MB, Math.floor(heapBytes / 1024 ** 2)),
        maxYoungGenerationSizeMb: YOUNG_MB,
      },
    });
  } catch (error) {
    return error as Error;
  }
}

function notStarted(error: Error, tickets: Tickets): UserThread {
  const gone: GuestFailure = { kind: 'crashed', detail: `its thread could not be started: ${error.message}` };
  const nothing = (): void => undefined;
  return {
    ...{ tickets, post: nothing, onLine: nothing, onEnded: nothing },
    end: () => Promise.resolve(),
    ended: Promise.resolve(gone),
    failure: () => gone,
  };
}

function describeDeath(error: unknown): GuestFailure {
  const isMemory = isRecord(error) && error['code'] === 'ERR_WORKER_OUT_OF_MEMORY';
  return isMemory
    ? { kind: 'memory', detail: 'its heap is exhausted' }
    : { kind: 'threw', detail: describeThrown(error) };
}
