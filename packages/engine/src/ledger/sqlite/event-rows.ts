import { EMPTY_STREAM } from '../event-record.ts';
import type { EventRecord, StreamHead } from '../event-record.ts';
import { NEW_STREAM } from '../ledger-view.ts';
import type { StreamState } from '../ledger-view.ts';
import type { Statements } from './statements.ts';

interface EventRow {
  offset: number;
  run: string;
  seq: number;
  id: string;
  attempt: number;
  type: string;
  version: number;
  at: string;
  trace: string;
  data: string;
  prev_offset: number;
  prev_hash: string;
  hash: string;
}

const INSERT_EVENT = 'INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';

/** The project's stream has no run; the column must have a value to be part of a unique key. */
export function runColumn(runId: string | null): string {
  return runId ?? '';
}

/** Finds and writes events, heads and seals. */
export function createEventRows(statements: Statements) {
  const find = (sql: string, ...values: unknown[]): EventRecord | null => {
    const row = statements.get<EventRow>(sql, ...values);
    return row === undefined ? null : toRecord(row);
  };
  const list = (sql: string, ...values: unknown[]) => statements.all<EventRow>(sql, ...values).map(toRecord);
  return {
    eventById: (id: string) => find('SELECT * FROM events WHERE id = ?', id),
    eventAt: (offset: number) => find('SELECT * FROM events WHERE offset = ?', offset),
    eventsFrom: (afterOffset: number, limit: number) =>
      list('SELECT * FROM events WHERE offset > ? ORDER BY offset LIMIT ?', afterOffset, limit),
    insert: (record: EventRecord) => insertEvent(statements, record),
    total: (): StreamHead => statements.get<StreamHead>('SELECT count, head FROM totals') ?? EMPTY_STREAM,
    putTotal: ({ count, head }: StreamHead) =>
      statements.run('UPDATE totals SET count = ?, head = ?', count, head),
    stream: (runId: string | null) => findStream(statements, runId),
    putStream: (runId: string | null, stream: StreamState) => putStream(statements, runId, stream),
    // Streams that lost their head row are still found by their events.
    *streamIds(): Generator<string | null> {
      const all = 'SELECT run FROM streams UNION SELECT run FROM seals UNION SELECT DISTINCT run FROM events';
      for (const { run } of statements.iterate<{ run: string }>(all)) yield run === '' ? null : run;
    },
    countStreams: () =>
      statements.count('SELECT count(*) FROM (SELECT run FROM streams UNION SELECT run FROM seals)'),
    end: (runId: string | null): StreamHead | null =>
      statements.get<StreamHead>('SELECT count, head FROM seals WHERE run = ?', runColumn(runId)) ?? null,
  };
}

function insertEvent(statements: Statements, record: EventRecord): void {
  statements
    .prepared(INSERT_EVENT)
    .run(
      record.offset,
      runColumn(record.runId),
      record.seq,
      record.id,
      record.attempt,
      record.type,
      record.version,
      record.at,
      record.trace,
      record.dataText,
      record.prevOffset,
      record.prevHash,
      record.hash,
    );
}

function findStream(statements: Statements, runId: string | null): StreamState {
  const row = statements.get<{ count: number; head: string; head_offset: number; sealed: number }>(
    'SELECT count, head, head_offset, sealed FROM streams WHERE run = ?',
    runColumn(runId),
  );
  if (row === undefined) return NEW_STREAM;
  return { count: row.count, head: row.head, headOffset: row.head_offset, isEnded: row.sealed === 1 };
}

function putStream(statements: Statements, runId: string | null, stream: StreamState): void {
  const run = runColumn(runId);
  const { count, head, headOffset, isEnded } = stream;
  statements.run(
    'INSERT OR REPLACE INTO streams VALUES (?, ?, ?, ?, ?)',
    run,
    count,
    head,
    headOffset,
    isEnded ? 1 : 0,
  );
  if (isEnded) statements.run('INSERT OR REPLACE INTO seals VALUES (?, ?, ?)', run, count, head);
}

function toRecord(row: EventRow): EventRecord {
  return {
    id: row.id,
    runId: row.run === '' ? null : row.run,
    attempt: row.attempt,
    type: row.type,
    version: row.version,
    at: row.at,
    trace: row.trace,
    dataText: row.data,
    seq: row.seq,
    offset: row.offset,
    prevOffset: row.prev_offset,
    prevHash: row.prev_hash,
    hash: row.hash,
  };
}
