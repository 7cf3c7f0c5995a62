/**
 * Commits on the ledger's thread, once it is worth one: a process that records little commits by itself and never starts a
 * thread (most of 40 ms). Once it was worth one, each call starts it again.
 *
 *   here ──enough calls──► starting ──ready──► thread ──it ended──► here, for good
 *    ▲                                           │
 *    └────────────nothing came for a while───────┘
 *
 * T1  A call is settled once. What the thread had not answered when it ended is an outage: it may have been recorded.
 * T2  Calls keep their order: the thread gets the first one when nothing waits here.
 * T3  The thread keeps the process alive while calls are under way, and only then.
 */
import { Worker } from 'node:worker_threads';
import type { AdmittedEvent } from '../admit-event.ts';
import type { CommitOptions, Commits, Recorded } from '../commits.ts';
import type { EndingSigner } from '../ending-marks.ts';
import { LedgerIoError } from '../errors.ts';
import { GroupCommit } from '../group-commit.ts';
import { unpackError } from '../pack-error.ts';
import type { AddedSpan, OwnCommits } from './own-commits.ts';
import type { SqliteStorage } from './sqlite-storage.ts';
import { endThreadTurn, type TurnMemory } from './write-turns.ts';
import { isRecord, type Answer, type FromThread, type ThreadData, type ToThread } from './thread-messages.ts';

/** A run without output makes about five: who carries out several, or a long one, gets a thread. */
const DEFAULT_CALLS_BEFORE = 40;
/** A host that waits for work frees the memory of its thread. */
const DEFAULT_IDLE_MS = 10_000;

export interface ThreadCommitsOptions {
  /** The program of the thread. */
  readonly threadEntry: string;
  readonly callsBeforeThread?: number | undefined;
  readonly threadIdleMs?: number | undefined;
  /** Called when the thread has taken over. */
  onThreadReady?(): void;
  readonly patienceMs?: number | undefined;
  readonly endings?: EndingSigner | undefined;
  readonly own: OwnCommits;
  readonly turns: TurnMemory;
}

interface Flight {
  readonly events: readonly AdmittedEvent[];
  readonly resolve: (recorded: Recorded) => void;
  readonly reject: (error: unknown) => void;
}

type Thread =
  | { readonly kind: 'none' }
  | { readonly kind: 'starting' | 'ready'; readonly worker: Worker; readonly gone: Promise<void> }
  | { readonly kind: 'ended' };

export class ThreadCommits implements Commits {
  readonly #storage: SqliteStorage;
  readonly #onCommit: () => void;
  readonly #options: ThreadCommitsOptions;
  readonly #here: GroupCommit;
  readonly #flights = new Map<number, Flight>();
  #calls = 0;
  #lastId = 0;
  #idle: NodeJS.Timeout | undefined;
  #leaving: Promise<void> = Promise.resolve();
  #thread: Thread = { kind: 'none' };

  constructor(storage: SqliteStorage, onCommit: () => void, options: ThreadCommitsOptions) {
    this.#storage = storage;
    this.#onCommit = onCommit;
    this.#options = options;
    this.#here = new GroupCommit(storage, onCommit, options);
  }

  submit(events: readonly AdmittedEvent[], options: CommitOptions = {}): Promise<Recorded> {
    const { callsBeforeThread = DEFAULT_CALLS_BEFORE } = this.#options;
    this.#calls += 1;
    if (this.#calls > callsBeforeThread) this.start();
    // T2
    if (this.#thread.kind !== 'ready' || !this.#here.isIdle) return this.#here.submit(events, options);
    const { worker } = this.#thread;
    return new Promise((resolve, reject) => {
      const id = (this.#lastId += 1);
      clearTimeout(this.#idle);
      worker.postMessage({ kind: 'append', id, events, options } satisfies ToThread);
      this.#flights.set(id, { events, resolve, reject });
      this.#options.own.underWay = this.#flights.size;
      worker.ref(); // T3
    });
  }

  async drain(): Promise<void> {
    await this.#here.drain();
    clearTimeout(this.#idle);
    if (this.#thread.kind === 'starting') await this.#thread.worker.terminate();
    if (this.#thread.kind === 'ready') this.#dismiss(this.#thread).ref();
    await this.#leaving;
  }

  /** It answers what it has and ends. */
  #dismiss({ worker, gone }: Extract<Thread, { readonly worker: Worker }>): Worker {
    worker.postMessage({ kind: 'close' } satisfies ToThread);
    this.#leaving = gone;
    return worker;
  }

  #restLater(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#rest(), this.#options.threadIdleMs ?? DEFAULT_IDLE_MS).unref();
  }

  /** Nothing came for a while: the next call starts another one, and is written here. */
  #rest(): void {
    if (this.#thread.kind !== 'ready' || this.#flights.size > 0) return;
    this.#dismiss(this.#thread);
    this.#thread = { kind: 'none' };
  }

  /** Starts the thread, if there was none yet. */
  start(): void {
    if (this.#thread.kind !== 'none') return;
    const { threadEntry, patienceMs, endings, turns } = this.#options;
    const { file, identity } = this.#storage;
    if (identity === null) return;
    const data: ThreadData = { file, identity, patienceMs, endings, turns };
    // It reads no environment, and flags of this process may not be for threads.
    const worker = new Worker(threadEntry, { workerData: data, env: {}, execArgv: [], name: 'ledger' });
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    let reason: unknown = new Error('it ended');
    worker.on('message', (message: FromThread) => this.#receive(worker, gone, message));
    worker.on('error', (error) => (reason = error));
    worker.on('exit', () => {
      if ('worker' in this.#thread && this.#thread.worker === worker) this.#end(reason);
      resolve();
    });
    worker.unref(); // T3: after the listeners, because one for messages keeps the process alive again
    this.#thread = { kind: 'starting', worker, gone };
  }

  #receive(worker: Worker, gone: Promise<void>, message: FromThread): void {
    if (message.kind === 'ready') {
      this.#thread = { kind: 'ready', worker, gone };
      this.#restLater();
      this.#options.onThreadReady?.();
      return;
    }
    for (const answer of message.answers) this.#settle(answer);
    if (this.#flights.size === 0) {
      worker.unref();
      this.#restLater();
    }
    this.#options.own.underWay = this.#flights.size;
    const added = message.answers.flatMap(spanOf);
    this.#options.own.notify(added);
    if (added.length > 0) this.#onCommit();
  }

  #settle(answer: Answer): void {
    const flight = this.#flights.get(answer.id);
    this.#flights.delete(answer.id);
    if (answer.kind === 'refused') flight?.reject(unpackError(answer.error));
    else flight?.resolve(toRecorded(answer, flight.events));
  }

  /** T1. Not started again: what ends a thread, such as a lack of memory, would end the next one. */
  #end(reason: unknown): void {
    this.#thread = { kind: 'ended' };
    endThreadTurn(this.#options.turns);
    const why = reason instanceof Error ? reason.message : String(reason);
    const error = new LedgerIoError(this.#storage.file, `the thread that writes it ended (${why})`, reason);
    for (const { reject } of this.#flights.values()) reject(error);
    this.#flights.clear();
    this.#options.own.underWay = 0;
  }
}

function spanOf(answer: Answer): AddedSpan[] {
  if (answer.kind === 'refused') return [];
  const before = answer.countBefore;
  return [{ before, last: Math.max(before, answer.events.at(-1)?.offset ?? 0) }];
}

function toRecorded(
  { events, countBefore }: Extract<Answer, { kind: 'recorded' }>,
  asked: readonly AdmittedEvent[],
): Recorded {
  const records = asked.flatMap(({ isIdGiven: _isIdGiven, ...event }, index) => {
    const place = events[index];
    if (place === undefined) return [];
    return isRecord(place) ? place : { ...event, ...place };
  });
  return { countBefore, records };
}
