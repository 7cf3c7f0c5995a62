import type { AttemptRow, QuestionRow, SpendRow } from './contract.ts';
import type { EventRecord, StreamHead } from './event-record.ts';
import type { LedgerView, RunState, StreamState } from './ledger-view.ts';

/**
 * What a transaction is going to write, laid over what is there.
 * Drafts stack: one for the commit, one for each call in it. A refused call's draft is dropped and leaves no trace;
 * a row that many calls touch is written once.
 */
export class Draft implements LedgerView {
  readonly #base: LedgerView;
  #total: StreamHead | null = null;
  readonly events: EventRecord[] = [];
  readonly #eventsById = new Map<string, EventRecord>();
  readonly streams = new Map<string | null, StreamState>();
  readonly runs = new Map<string, RunState>();
  readonly attempts = new Map<string, AttemptRow>();
  readonly questions = new Map<string, QuestionRow>();
  readonly spends = new Map<string, SpendRow>();

  constructor(base: LedgerView) {
    this.#base = base;
  }

  total(): StreamHead {
    return this.#total ?? this.#base.total();
  }

  stream(runId: string | null): StreamState {
    return this.streams.get(runId) ?? this.#base.stream(runId);
  }

  eventById(id: string): EventRecord | null {
    return this.#eventsById.get(id) ?? this.#base.eventById(id);
  }

  run(runId: string): RunState | null {
    return this.runs.get(runId) ?? this.#base.run(runId);
  }

  runByIdempotencyKey(key: string): RunState | null {
    for (const run of this.runs.values()) if (run.idempotencyKey === key) return run;
    return this.#base.runByIdempotencyKey(key);
  }

  attempt(runId: string, attempt: number): AttemptRow | null {
    return this.attempts.get(attemptKey(runId, attempt)) ?? this.#base.attempt(runId, attempt);
  }

  question(questionId: string): QuestionRow | null {
    return this.questions.get(questionId) ?? this.#base.question(questionId);
  }

  spend(runId: string): SpendRow | null {
    return this.spends.get(runId) ?? this.#base.spend(runId);
  }

  addEvent(record: EventRecord, stream: StreamState, total: StreamHead): void {
    this.events.push(record);
    this.#eventsById.set(record.id, record);
    this.streams.set(record.runId, stream);
    this.#total = total;
  }

  putRun(run: RunState): void {
    this.runs.set(run.runId, run);
  }

  putAttempt(row: AttemptRow): void {
    this.attempts.set(attemptKey(row.runId, row.attempt), row);
  }

  putQuestion(row: QuestionRow): void {
    this.questions.set(row.questionId, row);
  }

  putSpend(row: SpendRow): void {
    this.spends.set(row.runId, row);
  }

  /** Takes over what a call's draft would write. */
  absorb(other: Draft): void {
    for (const record of other.events) {
      this.events.push(record);
      this.#eventsById.set(record.id, record);
    }
    if (other.#total !== null) this.#total = other.#total;
    copyInto(this.streams, other.streams);
    copyInto(this.runs, other.runs);
    copyInto(this.attempts, other.attempts);
    copyInto(this.questions, other.questions);
    copyInto(this.spends, other.spends);
  }
}

function attemptKey(runId: string, attempt: number): string {
  return `${runId}#${attempt}`;
}

function copyInto<K, V>(target: Map<K, V>, source: ReadonlyMap<K, V>): void {
  for (const [key, value] of source) target.set(key, value);
}
