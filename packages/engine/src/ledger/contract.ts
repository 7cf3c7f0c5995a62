// The ledger is the only source of truth (invariant 4): what it replays to is what happened.
//
// Promises every implementation keeps, and the conformance suite proves:
//  L1 `append` resolves only when its events are durable; the events of one call are recorded together or not at all.
//  L2 `seq` counts each run from 1 and `offset` counts everything from 1, both without holes.
//  L3 an event never changes; each is chained by sha256 to the one before it in its run.
//  L4 appending an existing id adds nothing and returns what was stored.
//  L5 a run or thread is accepted once and ends once (invariant 1); illegal moves are refused inside the transaction.
//  L6 damage is named when it is read, never skipped.
//  L7 a projection can be dropped and rebuilt from the events alone.
// Implementers must not answer from memory what another process may have changed in the file.

import type {
  EventContent,
  EventType,
  Failure,
  Question,
  RunStatus,
  TerminalType,
  ThreadRow,
  UnknownContent,
} from '@caisson/protocol';
import type { ApprovalRow } from './approval-row.ts';
import type {
  ApprovalFilter,
  IdPart,
  QuestionFilter,
  RunFilter,
  SpendFilter,
  ThreadFilter,
  WaitingBranch,
} from './run-filter.ts';
import type { SpendRow } from './spend-row.ts';
import type { VerifyAllReport, VerifyReport } from './verify-report.ts';
import type { KeyValues, Leases } from './working-rows.ts';

export * from './approval-row.ts';
export * from './run-filter.ts';
export * from './spend-row.ts';
export * from './verify-report.ts';
export * from './working-rows.ts';

/** A fact to be recorded. `runId` is the stream's id: a run, a thread (`thread_…`), or `null` for the project. */
export interface NewEvent {
  /** Makes the append idempotent; generated when absent. */
  readonly id?: string;
  readonly runId: string | null;
  /** 0 when the event belongs to no attempt. */
  readonly attempt: number;
  readonly type: string;
  readonly version: number;
  /** RFC 3339 UTC with milliseconds. */
  readonly at: string;
  readonly trace: string;
  /** JSON values only; `undefined` members are dropped. */
  readonly data: Record<string, unknown>;
}

/** Where an event stands. */
export interface EventFrame extends Omit<Required<NewEvent>, 'type' | 'data'> {
  /** Position in its run, from 1, without holes. */
  readonly seq: number;
  /** Position in the whole ledger, from 1, without holes. */
  readonly offset: number;
}

interface Link {
  readonly prevHash: string;
  readonly hash: string;
}

/** An event for a listener: a stored one, or a live one that is never written (then `seq` and `offset` are 0). */
export type PublishedEvent = EventFrame & (EventContent | UnknownContent);

/** A fact as it stands in the ledger. What this version cannot read is `unknown`, with its data as it was stored. */
export type StoredEvent = PublishedEvent & Link;

/** A stored event of one of these types. */
export type StoredOf<T extends EventType> = EventFrame & EventContent<T> & Link;

export interface RunRow {
  readonly runId: string;
  readonly status: RunStatus;
  readonly priority: number;
  /** The pool whose slots it waits for; absent in runs of the first ledgers. */
  readonly pool?: string;
  readonly acceptedOffset: number;
  readonly acceptedAt: string;
  /** When the first attempt's worker reported ready. */
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** The highest attempt seen; 0 before the first. */
  readonly attempt: number;
  readonly lastSeq: number;
  readonly host: string;
  /** How often it has changed its host, counted from FIRST_EPOCH; absent for a run that never did. */
  readonly epoch?: number;
  readonly session?: string;
  readonly idempotencyKey?: string;
  readonly continues?: string;
  /** The run that continues with the answer to this one's question. */
  readonly continuedBy?: string;
  readonly description: string;
  readonly runtime?: string;
  readonly agent?: string;
  /** The type of the terminal event, once there is one. */
  readonly ending?: TerminalType;
  readonly cause?: string;
  readonly durationMs?: number;
  readonly failure?: Failure;
  readonly costUsd?: number;
  /** Present where a part of `costUsd`, or of the tokens behind it, is an estimate. */
  readonly costIsEstimate?: true;
  /** Present from the ending until the run is sealed or forgotten. */
  readonly unsealed?: true;
  /** When a person last took its work into their files. */
  readonly appliedAt?: string;
  /** Present where that left conflict markers in them. */
  readonly appliedWithConflicts?: true;
  /** When its contents were deleted on request. */
  readonly forgottenAt?: string;
  /** Of a run on a remote repository: whether its branch goes there. */
  readonly pushes?: boolean;
  /** Present while the branch that it made waits for a person. */
  readonly waitingBranch?: WaitingBranch;
  /** Of a task of a pool of workers; `drainedAt`: when its branch, which timed out, was taken over. */
  readonly worker?: { readonly pool: string; readonly branch?: string; readonly drainedAt?: string };
}

export interface AttemptRow {
  readonly runId: string;
  readonly attempt: number;
  readonly launchedAt?: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** What compute needs to find the worker again. */
  readonly handle?: unknown;
  /** The type of the event that ended it. */
  readonly ending?: EventType;
  readonly failure?: Failure;
}

export type QuestionRow = Readonly<Question>;

export interface ReadQuery {
  /** A run, or `null` for the project's stream; absent means everything in global order. */
  readonly runId?: string | null;
  /** Read what follows this `seq` (with `runId`) or `offset` (without). */
  readonly after?: number;
  readonly limit?: number;
  readonly types?: readonly EventType[];
}

type WalkQuery = Pick<ReadQuery, 'after' | 'types'>;

/** Something was committed: by this process, or by another one. */
export interface LedgerChange {
  readonly origin: 'own' | 'other';
}

export interface AppendOptions {
  readonly expectedSeq?: number;
  readonly poolLimit?: PoolLimit;
  readonly fence?: Fence;
  /** Called before `append` resolves, with each event that was not there before, in order. */
  onAdded?(event: StoredEvent): void;
}

/** The writer drives this run since this epoch: once another host does, it is refused (RunTakenOverError). */
export interface Fence {
  readonly runId: string;
  readonly epoch: number;
}

/** The most runs that a pool accepts: those with a slot and those that wait. */
export interface PoolLimit {
  readonly pool: string;
  readonly bound: number;
}

/** How many events were checked; of the file and the rows, which are one look each, only that it begins. */
export type VerifyProgress = (what: 'file' | 'events' | 'rows', done: number, total: number) => void;

export interface Ledger {
  /** Where it is, for messages; `:memory:` for the in-memory one. */
  readonly file: string;
  /** Whether that path still names the open file; once it does not, every write throws LedgerGoneError. */
  isThere(): boolean;
  /**
   * Records the events of one call in one transaction and resolves when they are on disk. Concurrent calls share a
   * commit; a refused call does not affect the others. `expectedSeq` requires that the run is at that `seq`, `poolLimit`
   * that fewer runs than its limit have a slot of the pool or wait for one, `fence` that nobody has adopted the run since;
   * all are checked inside the transaction.
   */
  append(events: readonly NewEvent[], options?: AppendOptions): Promise<readonly StoredEvent[]>;
  /** Replays from a cursor, checking the hash chain of what it reads. Throws LedgerCorruptError. */
  read(query?: ReadQuery & { readonly types?: never }): StoredEvent[];
  /** The same for some types alone, without events under their name that this version cannot read. */
  read<T extends EventType>(query: ReadQuery & { readonly types: readonly T[] }): StoredOf<T>[];
  /** Everything in global order, a page at a time: memory does not grow with the ledger. */
  walk(query?: WalkQuery & { readonly types?: never }): Generator<StoredEvent>;
  walk<T extends EventType>(query: WalkQuery & { readonly types: readonly T[] }): Generator<StoredOf<T>>;
  /** A run from a cursor on, as `read` gives it, in pieces between which the event loop is free: it may have thousands. */
  readRun(runId: string, after?: number): Promise<StoredEvent[]>;
  /** The same a page at a time, as it was when the reading began: a slow reader holds no more than a page. */
  pageRun(runId: string, after: number, size: number): AsyncGenerator<StoredEvent[], void, void>;
  /** One event, checked against its own hash alone: what stands before it is not read. */
  find(id: string): StoredEvent | null;
  /** The newest event of a type in the whole ledger; `unknown` where this version cannot read it. */
  findLast(type: EventType): StoredEvent | null;
  runs(filter?: RunFilter): RunRow[];
  /** The same in pieces, between which the event loop is free, and a page at a time. */
  searchRuns(filter?: RunFilter): Promise<RunRow[]>;
  walkRuns(filter?: Omit<RunFilter, 'limit' | 'after'>): Generator<RunRow>;
  run(runId: string): RunRow | null;
  /** The whole ids with this part, the newest first. */
  runIds(part: IdPart, limit: number): string[];
  attempts(runId: string): AttemptRow[];
  questions(filter?: QuestionFilter): QuestionRow[];
  question(questionId: string): QuestionRow | null;
  /** In the order of their requests. */
  approvals(filter?: ApprovalFilter): ApprovalRow[];
  approval(approvalId: string): ApprovalRow | null;
  spend(filter?: SpendFilter): SpendRow[];
  threads(filter?: ThreadFilter): ThreadRow[];
  thread(threadId: string): ThreadRow | null;
  /** The `offset` of the newest event; 0 when there is none. */
  lastOffset(): number;
  rebuildProjections(): void;
  verifyRun(runId: string | null): VerifyReport;
  /** Memory does not grow with the ledger. Progress is counted in events. */
  verifyAll(onProgress?: VerifyProgress): VerifyAllReport;
  readonly leases: Leases;
  readonly kv: KeyValues;
  /** Runs reads and `kv` writes as one transaction, alone among all processes, without `append` and leases. */
  alone<T>(work: () => T): T;
  /**
   * Carries out `work`, which writes leases or values, as soon as no other process has the lock: meanwhile the event loop is
   * free. It may be begun more than once. Throws LedgerBusyError after as long as an append waits. An abort rejects with its
   * reason at once, and nothing is written after it.
   */
  whenFree<T>(work: () => T, signal?: AbortSignal): Promise<T>;
  /** Calls back, coalesced, after anything was committed. A throwing callback never disturbs the ledger. */
  watch(onChange: (change: LedgerChange) => void): () => void;
  /** Waits for what is in flight, then closes the file. Idempotent. */
  close(): Promise<void>;
}
