import type { ThreadRow } from '@caisson/protocol';
import { INDEXED_END } from '../run-filter.ts';
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
} from '../contract.ts';
import type { Draft } from '../draft.ts';
import type { RunState } from '../ledger-view.ts';
import { queuedIn } from '../project.ts';
import { ROW_TABLES, type RowTable } from '../storage.ts';
import { MISFILED } from './misfiled.ts';
import { parseRow, writeRow } from './row-text.ts';
import { selectApprovals, selectQuestions, selectSpend } from './select-pages.ts';
import { selectRunAt, selectRuns, type Query } from './select-runs.ts';
import { selectThreads } from './select-threads.ts';
import type { Statements } from './statements.ts';

/** Finds and writes the projections. */
export function createProjectionRows(statements: Statements, file: string) {
  const parse = <T>(row: { row: string }): T => parseRow<T>(row.row, file);
  const find = <T>(sql: string, ...values: unknown[]): T | null => {
    const row = statements.get<{ row: string }>(sql, ...values);
    return row === undefined ? null : parse<T>(row);
  };
  const list = <T>(sql: string, ...values: unknown[]) =>
    statements.all<{ row: string }>(sql, ...values).map(parse<T>);
  const select = <T>({ sql, values }: Query) => list<T>(sql, ...values);
  return {
    run: (runId: string) => find<RunState>('SELECT row FROM runs WHERE run = ?', runId),
    runByIdempotencyKey: (key: string) =>
      find<RunState>('SELECT row FROM runs WHERE idempotency_key = ?', key),
    attempt: (runId: string, attempt: number) =>
      find<AttemptRow>('SELECT row FROM attempts WHERE run = ? AND attempt = ?', runId, attempt),
    question: (questionId: string) => find<QuestionRow>('SELECT row FROM questions WHERE id = ?', questionId),
    spend: (runId: string) => find<SpendRow>('SELECT row FROM spend WHERE run = ?', runId),
    thread: (threadId: string) => find<ThreadRow>('SELECT row FROM threads WHERE id = ?', threadId),
    threads: (filter: ThreadFilter) => select<ThreadRow>(selectThreads(filter)),
    approval: (approvalId: string) => find<ApprovalRow>('SELECT row FROM approvals WHERE id = ?', approvalId),
    openApprovals: (runId: string) =>
      list<ApprovalRow>(
        `SELECT row FROM approvals WHERE run = ? AND +status = 'open' ORDER BY requested_offset`,
        runId,
      ),
    runs: (filter: RunFilter) => select<RunState>(selectRuns(filter)),
    runAt: (filter: RunFilter, index: number) => findRunAt(statements, filter, index),
    runIds: (part: IdPart, limit: number) => findRunIds(statements, part, limit),
    attempts: (runId: string) =>
      list<AttemptRow>('SELECT row FROM attempts WHERE run = ? ORDER BY attempt', runId),
    questions: (filter: QuestionFilter) => select<QuestionRow>(selectQuestions(filter)),
    approvals: (filter: ApprovalFilter) =>
      select<ApprovalRow>(selectApprovals(filter)).filter((row) =>
        row.approvalId.endsWith(filter.idEnd ?? ''),
      ),
    spends: (filter: SpendFilter) => select<SpendRow>(selectSpend(filter)),
    ...wholeTables(statements),
    put: (draft: Draft) => putRows(statements, draft),
  };
}

function findRunAt(statements: Statements, filter: RunFilter, index: number): string | null {
  const { sql, values } = selectRunAt(filter, index);
  return statements.get<{ run: string }>(sql, ...values)?.run ?? null;
}

const KEYED_BY_ID: ReadonlySet<string> = new Set<RowTable>(['questions', 'approvals', 'threads']);

function wholeTables(statements: Statements) {
  return {
    clearProjections: () => {
      for (const table of ROW_TABLES) statements.run(`DELETE FROM ${table}`);
    },
    countRows: (table: RowTable) => statements.count(`SELECT count(*) FROM ${table}`),
    /** Rows that a search would miss: a search column differs from the row itself. */
    misfiled: () =>
      Object.entries(MISFILED).flatMap(([table, where]) =>
        statements
          .all<{ id: string }>(
            `SELECT ${KEYED_BY_ID.has(table) ? 'id' : 'run'} AS id FROM ${table} WHERE CASE WHEN json_valid(row) THEN ${where.join(' OR ')} END`,
          )
          .map(({ id }) => `${id} is in the ${table} table under values that it does not have`),
      ),
  };
}

function putRows(statements: Statements, draft: Draft): void {
  for (const row of draft.changedRuns()) putRun(statements, row);
  for (const row of draft.changedAttempts()) {
    statements.run('INSERT OR REPLACE INTO attempts VALUES (?, ?, ?)', row.runId, row.attempt, writeRow(row));
  }
  for (const row of draft.changedQuestions()) {
    const { questionId, runId, status, askedOffset } = row;
    const sql = 'INSERT OR REPLACE INTO questions VALUES (?, ?, ?, ?, ?)';
    statements.run(sql, questionId, runId, status, askedOffset, writeRow(row));
  }
  for (const row of draft.changedApprovals()) {
    const { approvalId, runId, status, requestedOffset } = row;
    const sql = 'INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?)';
    statements.run(sql, approvalId, runId, status, requestedOffset, writeRow(row));
  }
  for (const row of draft.changedThreads()) {
    const { threadId, workflow, status, acceptedOffset } = row;
    const sql = 'INSERT OR REPLACE INTO threads VALUES (?, ?, ?, ?, ?)';
    statements.run(sql, threadId, workflow, status, acceptedOffset, writeRow(row));
  }
  for (const row of draft.changedSpends()) {
    statements.run(
      'INSERT OR REPLACE INTO spend VALUES (?, ?, ?, ?)',
      row.runId,
      row.session,
      row.day,
      writeRow(row),
    );
  }
}

function putRun(statements: Statements, row: RunState): void {
  // Not REPLACE: a taken idempotency key must fail instead of deleting the other run's row.
  statements.run(
    `INSERT INTO runs (run, status, priority, accepted_offset, session, idempotency_key, queued_in, unsealed,
       waiting_branch, agent, runtime, continues, accepted_at, ended_at, row)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (run) DO UPDATE SET status = excluded.status, priority = excluded.priority,
       queued_in = excluded.queued_in, unsealed = excluded.unsealed, ended_at = excluded.ended_at,
       waiting_branch = excluded.waiting_branch, row = excluded.row`,
    row.runId,
    row.status,
    row.priority,
    row.acceptedOffset,
    row.session ?? null,
    row.idempotencyKey ?? null,
    queuedIn(row),
    row.unsealed === true ? 1 : null,
    row.waitingBranch ?? null,
    row.agent ?? null,
    row.runtime ?? null,
    row.continues ?? null,
    row.acceptedAt,
    row.endedAt ?? null,
    writeRow(row),
  );
}

/** Ids sort by the time of their making. */
function findRunIds(statements: Statements, part: IdPart, limit: number): string[] {
  const rows =
    'end' in part
      ? statements.all<{ run: string }>(
          'SELECT run FROM runs WHERE substr(run, -4) = ? AND substr(run, ?) = ? ORDER BY run DESC LIMIT ?',
          part.end.slice(-INDEXED_END),
          -part.end.length,
          part.end,
          limit,
        )
      : statements.all<{ run: string }>(
          'SELECT run FROM runs WHERE run >= ? AND run < ? ORDER BY run DESC LIMIT ?',
          part.beginning,
          `${part.beginning}\u{10ffff}`,
          limit,
        );
  return rows.map(({ run }) => run);
}
