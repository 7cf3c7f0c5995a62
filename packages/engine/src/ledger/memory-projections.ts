import type { AttemptRow, QuestionRow, RunFilter, SpendRow } from './contract.ts';
import type { Draft } from './draft.ts';
import type { RunState } from './ledger-view.ts';

/** Finds and stores the projections. Rows go in and out by value, as they do with a file. */
export function createMemoryProjections(runs: Map<string, RunState>) {
  const attempts = new Map<string, AttemptRow[]>();
  const questions = new Map<string, QuestionRow>();
  const spends = new Map<string, SpendRow>();
  return {
    put(draft: Draft): void {
      for (const row of draft.changedRuns()) runs.set(row.runId, copy(row));
      for (const row of draft.changedAttempts())
        attempts.set(row.runId, replaceAttempt(attempts.get(row.runId) ?? [], copy(row)));
      for (const row of draft.changedQuestions()) questions.set(row.questionId, copy(row));
      for (const row of draft.changedSpends()) spends.set(row.runId, copy(row));
    },
    run: (runId: string) => copy(runs.get(runId) ?? null),
    runByIdempotencyKey: (key: string) =>
      copy([...runs.values()].find((run) => run.idempotencyKey === key) ?? null),
    attempt: (runId: string, attempt: number) =>
      copy(attempts.get(runId)?.find((row) => row.attempt === attempt) ?? null),
    question: (questionId: string) => copy(questions.get(questionId) ?? null),
    spend: (runId: string) => copy(spends.get(runId) ?? null),
    runs: (filter: RunFilter) => copy(filterRuns([...runs.values()], filter)),
    attempts: (runId: string) => copy((attempts.get(runId) ?? []).toSorted((a, b) => a.attempt - b.attempt)),
    questions: (filter: { runId?: string; status?: string }) =>
      copy(
        [...questions.values()]
          .filter((row) => isAsked(filter.runId, row.runId) && isAsked(filter.status, row.status))
          .sort((a, b) => a.askedOffset - b.askedOffset),
      ),
    spends: (filter: { session?: string; day?: string }) =>
      copy(
        [...spends.values()]
          .filter((row) => isAsked(filter.session, row.session) && isAsked(filter.day, row.day))
          .sort((a, b) => (a.runId < b.runId ? -1 : 1)),
      ),
    clearProjections: () => [runs, attempts, questions, spends].forEach((table) => table.clear()),
  };
}

function filterRuns(runs: readonly RunState[], filter: RunFilter): RunState[] {
  const statuses = filter.status === undefined ? null : new Set([filter.status].flat());
  const found = runs
    .filter((run) => statuses?.has(run.status) ?? true)
    .filter((run) => isAsked(filter.session, run.session))
    .filter((run) => isAsked(filter.idempotencyKey, run.idempotencyKey))
    .filter((run) => isAsked(filter.unsealed, run.unsealed))
    .toSorted((a, b) => a.acceptedOffset - b.acceptedOffset);
  return (filter.newestFirst === true ? found.reverse() : found).slice(0, filter.limit);
}

function isAsked<T>(asked: T | undefined, value: T): boolean {
  return asked === undefined || asked === value;
}

function replaceAttempt(rows: readonly AttemptRow[], row: AttemptRow): AttemptRow[] {
  return [...rows.filter((other) => other.attempt !== row.attempt), row];
}

function copy<T>(value: T): T {
  return structuredClone(value);
}
