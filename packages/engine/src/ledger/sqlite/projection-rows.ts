import { createHash } from 'node:crypto';
import { DEFAULT_POOL } from '../contract.ts';
import type { AttemptRow, QuestionRow, RunFilter, SpendRow } from '../contract.ts';
import type { Draft } from '../draft.ts';
import { LedgerCorruptError } from '../errors.ts';
import type { RunState } from '../ledger-view.ts';
import { queuedIn } from '../project.ts';
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
  return {
    run: (runId: string) => find<RunState>('SELECT row FROM runs WHERE run = ?', runId),
    runByIdempotencyKey: (key: string) =>
      find<RunState>('SELECT row FROM runs WHERE idempotency_key = ?', key),
    attempt: (runId: string, attempt: number) =>
      find<AttemptRow>('SELECT row FROM attempts WHERE run = ? AND attempt = ?', runId, attempt),
    question: (questionId: string) => find<QuestionRow>('SELECT row FROM questions WHERE id = ?', questionId),
    spend: (runId: string) => find<SpendRow>('SELECT row FROM spend WHERE run = ?', runId),
    runs: (filter: RunFilter) => {
      const { where, values } = runConditions(filter);
      const order = filter.newestFirst === true ? 'DESC' : 'ASC';
      return list<RunState>(
        `SELECT row FROM runs${where} ORDER BY accepted_offset ${order} LIMIT ?`,
        ...values,
        filter.limit ?? -1,
      );
    },
    attempts: (runId: string) =>
      list<AttemptRow>('SELECT row FROM attempts WHERE run = ? ORDER BY attempt', runId),
    questions: (filter: { runId?: string; status?: string }) => {
      const { where, values } = conditions([
        ['run', filter.runId],
        ['status', filter.status],
      ]);
      return list<QuestionRow>(`SELECT row FROM questions${where} ORDER BY asked_offset`, ...values);
    },
    spends: (filter: { session?: string; day?: string }) => {
      const { where, values } = conditions([
        ['session', filter.session],
        ['day', filter.day],
      ]);
      return list<SpendRow>(`SELECT row FROM spend${where} ORDER BY run`, ...values);
    },
    clearProjections: () => {
      for (const table of ['runs', 'attempts', 'questions', 'spend']) statements.run(`DELETE FROM ${table}`);
    },
    /** Rows that a search would miss: a search column differs from the row itself. */
    misfiled: () =>
      Object.entries(MISFILED).flatMap(([table, where]) =>
        statements
          .all<{ id: string }>(
            `SELECT ${table === 'questions' ? 'id' : 'run'} AS id FROM ${table} WHERE CASE WHEN json_valid(row) THEN ${where.join(' OR ')} END`,
          )
          .map(({ id }) => `${id} is in the ${table} table under values that it does not have`),
      ),
    put: (draft: Draft) => putRows(statements, draft),
  };
}

// The rule of `queuedIn`, as the migration has it too.
const QUEUED_ELSEWHERE = `queued_in IS NOT
  CASE WHEN status = 'queued' AND row ->> '$.attempt' = 0 THEN coalesce(row ->> '$.pool', '${DEFAULT_POOL}') END`;
// Damaged JSON is named when the row itself is read.
const MISFILED = {
  runs: differences({
    run: '$.runId',
    status: '$.status',
    priority: '$.priority',
    accepted_offset: '$.acceptedOffset',
    session: '$.session',
    idempotency_key: '$.idempotencyKey',
    unsealed: '$.unsealed',
  }).concat(QUEUED_ELSEWHERE),
  attempts: differences({ run: '$.runId', attempt: '$.attempt' }),
  questions: differences({
    id: '$.questionId',
    run: '$.runId',
    status: '$.status',
    asked_offset: '$.askedOffset',
  }),
  spend: differences({ run: '$.runId', session: '$.session', day: '$.day' }),
};

function differences(columns: Record<string, string>): string[] {
  return Object.entries(columns).map(([column, path]) => `${column} IS NOT row ->> '${path}'`);
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
    `INSERT INTO runs (run, status, priority, accepted_offset, session, idempotency_key, queued_in, unsealed, row)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (run) DO UPDATE SET status = excluded.status, priority = excluded.priority,
       queued_in = excluded.queued_in, unsealed = excluded.unsealed, row = excluded.row`,
    row.runId,
    row.status,
    row.priority,
    row.acceptedOffset,
    row.session ?? null,
    row.idempotencyKey ?? null,
    queuedIn(row),
    row.unsealed === true ? 1 : null,
    writeRow(row),
  );
}

function runConditions(filter: RunFilter): { where: string; values: unknown[] } {
  const base = conditions([
    ['session', filter.session],
    ['idempotency_key', filter.idempotencyKey],
    ['unsealed', filter.unsealed === true ? 1 : undefined],
  ]);
  if (filter.status === undefined) return base;
  const statuses = [filter.status].flat();
  const clause = `status IN (${statuses.map(() => '?').join(', ')})`;
  return {
    where: base.where === '' ? ` WHERE ${clause}` : `${base.where} AND ${clause}`,
    values: [...base.values, ...statuses],
  };
}

function conditions(columns: [string, string | number | undefined][]): { where: string; values: unknown[] } {
  const given = columns.filter(([, value]) => value !== undefined);
  if (given.length === 0) return { where: '', values: [] };
  return {
    where: ` WHERE ${given.map(([name]) => `${name} = ?`).join(' AND ')}`,
    values: given.map(([, value]) => value),
  };
}

/**
 * Rows are derived and are not in the hash chain, so each carries a short hash as its last member: a flipped byte in a
 * status or a cost is named when it is read (L6) and never shown as correct.
 */
function writeRow(row: object): string {
  const text = JSON.stringify(row);
  return `${text.slice(0, -1)},"check":"${checkOf(text)}"}`;
}

function parseRow<T>(stored: string, file: string): T {
  // Rows of the first ledgers have no check.
  const [tail, check] = /,"check":"([0-9a-f]{16})"\}$/.exec(stored) ?? [];
  const text = tail === undefined ? stored : `${stored.slice(0, -tail.length)}}`;
  if (check !== undefined && check !== checkOf(text)) throw damagedRow(file, 'was changed');
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw damagedRow(file, 'is not JSON', error);
  }
}

function checkOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function damagedRow(file: string, how: string, cause?: unknown): LedgerCorruptError {
  return new LedgerCorruptError(file, `a row that was derived from its events ${how}`, {
    cause,
    remedy:
      'The events are intact: caisson doctor checks them, caisson doctor --repair derives the rows again.',
  });
}
