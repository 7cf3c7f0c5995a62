import type { ThreadRow } from '@caisson/protocol';
import type {
  ApprovalFilter,
  ApprovalRow,
  AttemptRow,
  IdPart,
  QuestionFilter,
  QuestionRow,
  RunFilter,
  SpendFilter,
  SpendRow,
  ThreadFilter,
} from './contract.ts';
import type { Draft } from './draft.ts';
import type { RunState } from './ledger-view.ts';
import {
  filterApprovals,
  filterQuestions,
  filterRuns,
  filterSpends,
  filterThreads,
  orderOf,
} from './memory-filter.ts';
import type { RowTable } from './storage.ts';

/** Finds and stores the projections. Rows go in and out by value, as they do with a file. */
export function createMemoryProjections(runs: Map<string, RunState>) {
  const attempts = new Map<string, AttemptRow[]>();
  const questions = new Map<string, QuestionRow>();
  const approvals = new Map<string, ApprovalRow>();
  const spends = new Map<string, SpendRow>();
  const threads = new Map<string, ThreadRow>();
  return {
    put(draft: Draft): void {
      for (const row of draft.changedRuns()) runs.set(row.runId, copy(row));
      for (const row of draft.changedAttempts())
        attempts.set(row.runId, replaceAttempt(attempts.get(row.runId) ?? [], copy(row)));
      for (const row of draft.changedQuestions()) questions.set(row.questionId, copy(row));
      for (const row of draft.changedApprovals()) approvals.set(row.approvalId, copy(row));
      for (const row of draft.changedSpends()) spends.set(row.runId, copy(row));
      for (const row of draft.changedThreads()) threads.set(row.threadId, copy(row));
    },
    run: (runId: string) => copy(runs.get(runId) ?? null),
    runByIdempotencyKey: (key: string) =>
      copy([...runs.values()].find((run) => run.idempotencyKey === key) ?? null),
    attempt: (runId: string, attempt: number) =>
      copy(attempts.get(runId)?.find((row) => row.attempt === attempt) ?? null),
    question: (questionId: string) => copy(questions.get(questionId) ?? null),
    approval: (approvalId: string) => copy(approvals.get(approvalId) ?? null),
    openApprovals: (runId: string) => copy(filterApprovals(approvals, { runId, status: 'open' })),
    spend: (runId: string) => copy(spends.get(runId) ?? null),
    thread: (threadId: string) => copy(threads.get(threadId) ?? null),
    threads: (filter: ThreadFilter) => copy(filterThreads([...threads.values()], filter)),
    runs: (filter: RunFilter) => copy(filterRuns([...runs.values()], filter)),
    runAt: (filter: RunFilter, index: number) =>
      filterRuns([...runs.values()], { ...orderOf(filter), limit: index + 1 })[index]?.runId ?? null,
    runIds: (part: IdPart, limit: number) =>
      [...runs.keys()]
        .filter((runId) => ('end' in part ? runId.endsWith(part.end) : runId.startsWith(part.beginning)))
        .sort()
        .reverse()
        .slice(0, limit),
    attempts: (runId: string) => copy((attempts.get(runId) ?? []).toSorted((a, b) => a.attempt - b.attempt)),
    questions: (filter: QuestionFilter) => copy(filterQuestions(questions, filter)),
    approvals: (filter: ApprovalFilter) => copy(filterApprovals(approvals, filter)),
    spends: (filter: SpendFilter) => copy(filterSpends(spends, filter)),
    countRows: (table: RowTable) =>
      table === 'attempts'
        ? [...attempts.values()].flat().length
        : { runs, questions, approvals, spend: spends, threads }[table].size,
    clearProjections: () =>
      [runs, attempts, questions, approvals, spends, threads].forEach((table) => table.clear()),
  };
}

function replaceAttempt(rows: readonly AttemptRow[], row: AttemptRow): AttemptRow[] {
  return [...rows.filter((other) => other.attempt !== row.attempt), row];
}

function copy<T>(value: T): T {
  return structuredClone(value);
}
