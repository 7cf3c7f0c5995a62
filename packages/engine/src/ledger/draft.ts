import type { ThreadRow } from '@caisson/protocol';
import type { ApprovalRow, AttemptRow, QuestionRow, SpendRow } from './contract.ts';
import type { EventRecord, StreamHead } from './event-record.ts';
import type { LedgerView, RunState, StreamState } from './ledger-view.ts';

/**
 * What a transaction will write, on top of what is stored. Drafts stack: one for the commit, one for each call in it. A
 * refused call's draft is dropped without a trace; a row that many calls touch is written once.
 */
export class Draft implements LedgerView {
  readonly #base: LedgerView;
  #total: StreamHead | null = null;
  readonly events: EventRecord[] = [];
  readonly #givenIds = new Overlay<string, EventRecord>();
  readonly #streams = new Overlay<string | null, StreamState>();
  readonly #runs = new Overlay<string, RunState>();
  readonly #attempts = new Overlay<string, AttemptRow>();
  readonly #questions = new Overlay<string, QuestionRow>();
  readonly #approvals = new Overlay<string, ApprovalRow>();
  readonly #spends = new Overlay<string, SpendRow>();
  readonly #threads = new Overlay<string, ThreadRow>();

  constructor(base: LedgerView) {
    this.#base = base;
  }

  total(): StreamHead {
    return this.#total ?? this.#base.total();
  }

  stream(runId: string | null): StreamState {
    return this.#streams.get(runId) ?? this.#base.stream(runId);
  }

  eventById(id: string): EventRecord | null {
    return this.#givenIds.get(id) ?? this.#base.eventById(id);
  }

  run(runId: string): RunState | null {
    return this.#runs.get(runId) ?? this.#base.run(runId);
  }

  runByIdempotencyKey(key: string): RunState | null {
    for (const run of this.#runs.values()) if (run.idempotencyKey === key) return run;
    return this.#base.runByIdempotencyKey(key);
  }

  attempt(runId: string, attempt: number): AttemptRow | null {
    return this.#attempts.get(attemptKey(runId, attempt)) ?? this.#base.attempt(runId, attempt);
  }

  question(questionId: string): QuestionRow | null {
    return this.#questions.get(questionId) ?? this.#base.question(questionId);
  }

  approval(approvalId: string): ApprovalRow | null {
    return this.#approvals.get(approvalId) ?? this.#base.approval(approvalId);
  }

  openApprovals(runId: string): ApprovalRow[] {
    const stored = this.#base.openApprovals(runId).filter((row) => !this.#approvals.has(row.approvalId));
    const own = this.#approvals.values().filter((row) => row.runId === runId && row.status === 'open');
    return [...stored, ...own];
  }

  spend(runId: string): SpendRow | null {
    return this.#spends.get(runId) ?? this.#base.spend(runId);
  }

  thread(threadId: string): ThreadRow | null {
    return this.#threads.get(threadId) ?? this.#base.thread(threadId);
  }

  /** Adds an event and moves the heads on. A generated id cannot be looked up again. */
  addEvent(record: EventRecord, isIdGiven: boolean, stream: StreamState, total: StreamHead): void {
    this.events.push(record);
    if (isIdGiven) this.#givenIds.set(record.id, record);
    this.#streams.set(record.runId, stream);
    this.#total = total;
  }

  putRun(run: RunState): void {
    this.#runs.set(run.runId, run);
  }

  putAttempt(row: AttemptRow): void {
    this.#attempts.set(attemptKey(row.runId, row.attempt), row);
  }

  putQuestion(row: QuestionRow): void {
    this.#questions.set(row.questionId, row);
  }

  putApproval(row: ApprovalRow): void {
    this.#approvals.set(row.approvalId, row);
  }

  putSpend(row: SpendRow): void {
    this.#spends.set(row.runId, row);
  }

  putThread(row: ThreadRow): void {
    this.#threads.set(row.threadId, row);
  }

  changedStreams(): Iterable<[string | null, StreamState]> {
    return this.#streams.entries();
  }

  changedRuns(): RunState[] {
    return this.#runs.values();
  }

  changedAttempts(): AttemptRow[] {
    return this.#attempts.values();
  }

  changedQuestions(): QuestionRow[] {
    return this.#questions.values();
  }

  changedApprovals(): ApprovalRow[] {
    return this.#approvals.values();
  }

  changedSpends(): SpendRow[] {
    return this.#spends.values();
  }

  changedThreads(): ThreadRow[] {
    return this.#threads.values();
  }

  /** Adds what a call's draft would write. */
  absorb(other: Draft): void {
    for (const record of other.events) this.events.push(record);
    if (other.#total !== null) this.#total = other.#total;
    this.#givenIds.absorb(other.#givenIds);
    this.#streams.absorb(other.#streams);
    this.#runs.absorb(other.#runs);
    this.#attempts.absorb(other.#attempts);
    this.#questions.absorb(other.#questions);
    this.#approvals.absorb(other.#approvals);
    this.#spends.absorb(other.#spends);
    this.#threads.absorb(other.#threads);
  }
}

/** A map that costs nothing until it is used: most calls touch one table of eight. */
class Overlay<K, V> {
  #rows: Map<K, V> | null = null;

  get(key: K): V | undefined {
    return this.#rows?.get(key);
  }

  has(key: K): boolean {
    return this.#rows?.has(key) ?? false;
  }

  set(key: K, value: V): void {
    this.#rows ??= new Map();
    this.#rows.set(key, value);
  }

  values(): V[] {
    return this.#rows === null ? [] : [...this.#rows.values()];
  }

  entries(): Iterable<[K, V]> {
    return this.#rows ?? [];
  }

  absorb(other: Overlay<K, V>): void {
    if (other.#rows === null) return;
    if (this.#rows === null) this.#rows = other.#rows;
    else for (const [key, value] of other.#rows) this.#rows.set(key, value);
  }
}

function attemptKey(runId: string, attempt: number): string {
  return `${runId}#${attempt}`;
}
