// Whether the rows are what the events replay to, run by run: the rows of a run follow from its own events alone.

import { CaissonError } from '@caisson/protocol';
import { canonicalJson } from './canonical-json.ts';
import { Draft } from './draft.ts';
import { LedgerCorruptError } from './errors.ts';
import { toStoredEvent, type EventRecord } from './event-record.ts';
import { NEW_STREAM, type LedgerView } from './ledger-view.ts';
import { isProjected, project } from './project.ts';
import { isThreadStream } from './project-threads.ts';
import { ROW_TABLES, type RowTable, type Storage } from './storage.ts';

/** So many damaged rows are named one by one. */
const MAX_NAMED = 20;

export class Replay {
  readonly #storage: Storage;
  readonly #drafts = new Map<string, Draft>();
  readonly #counts = new Map<RowTable, number>();
  readonly #wrong = new Set<RowTable>();
  readonly #damaged = new Set<string>();
  /** Streams that were seen whole, and those of them that are runs. */
  streams = 0;
  runs = 0;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  add(record: EventRecord): void {
    const { runId } = record;
    if (runId === null || !isProjected(record.type)) return;
    const draft = this.#drafts.get(runId) ?? new Draft(EMPTY_VIEW);
    this.#drafts.set(runId, draft);
    project(toStoredEvent(record), draft);
  }

  /** All events of the stream were added. */
  endStream(runId: string | null): void {
    this.streams += 1;
    if (runId === null) return;
    if (!isThreadStream(runId)) this.runs += 1;
    const draft = this.#drafts.get(runId) ?? new Draft(EMPTY_VIEW);
    this.#drafts.delete(runId);
    for (const table of ROW_TABLES) this.#compare(table, runId, draft);
  }

  /** Once every stream has ended. A row that no event accounts for is only seen in the number of all rows. */
  problems(): string[] {
    for (const table of ROW_TABLES)
      if (this.#storage.countRows(table) !== (this.#counts.get(table) ?? 0)) this.#wrong.add(table);
    const wrong = ROW_TABLES.filter((table) => this.#wrong.has(table)).map(
      (table) => `the ${table} table is not what the events replay to`,
    );
    const { file } = this.#storage;
    return [...this.#damaged, ...wrong.map((problem) => new LedgerCorruptError(file, problem).message)];
  }

  #compare(table: RowTable, runId: string, draft: Draft): void {
    const expected = changedRows(draft)[table]();
    this.#counts.set(table, (this.#counts.get(table) ?? 0) + expected.length);
    try {
      if (sortedText(storedRows(this.#storage, runId)[table]()) !== sortedText(expected))
        this.#wrong.add(table);
    } catch (error) {
      if (!(error instanceof CaissonError)) throw error;
      if (this.#damaged.size < MAX_NAMED) this.#damaged.add(error.message);
    }
  }
}

type Rows = Readonly<Record<RowTable, () => readonly unknown[]>>;

function changedRows(draft: Draft): Rows {
  return {
    runs: () => draft.changedRuns(),
    attempts: () => draft.changedAttempts(),
    questions: () => draft.changedQuestions(),
    approvals: () => draft.changedApprovals(),
    spend: () => draft.changedSpends(),
    threads: () => draft.changedThreads(),
  };
}

function storedRows(storage: Storage, runId: string): Rows {
  const one = (row: unknown): readonly unknown[] => (row === null ? [] : [row]);
  return {
    runs: () => one(storage.run(runId)),
    attempts: () => storage.attempts(runId),
    questions: () => storage.questions({ runId }),
    approvals: () => storage.approvals({ runId }),
    spend: () => one(storage.spend(runId)),
    threads: () => one(storage.thread(runId)),
  };
}

function sortedText(rows: readonly unknown[]): string {
  return rows
    .map((row) => canonicalJson(row))
    .sort()
    .join('\n');
}

const EMPTY_VIEW: LedgerView = {
  total: () => NEW_STREAM,
  stream: () => NEW_STREAM,
  eventById: () => null,
  run: () => null,
  runByIdempotencyKey: () => null,
  attempt: () => null,
  question: () => null,
  approval: () => null,
  openApprovals: () => [],
  spend: () => null,
  thread: () => null,
};
