import type { HoldRow, SlotRow } from '../contract.ts';
import type { WorkingRows } from '../storage.ts';
import type { WaitingRow } from '../turn.ts';
import type { Statements } from './statements.ts';

const SLOT = 'SELECT run AS runId, pool, host AS hostId FROM slots';
const HOLD = 'SELECT name, holder, host AS hostId FROM holds';
// The index runs_in_turn already has the order: the front is found behind at most as many rows as there are slots.
const WAITING =
  'FROM runs r WHERE r.queued_in = ? AND NOT EXISTS (SELECT 1 FROM slots s WHERE s.run = r.run)';
// The index alone counts; the few that have a slot are taken off. Their slots come first in the join.
const COUNT = 'SELECT count(*) AS n FROM runs r WHERE r.queued_in = ?';
const COUNT_PLACED =
  'SELECT count(*) AS n FROM slots s CROSS JOIN runs r ON r.run = s.run WHERE r.queued_in = ?';
const BEFORE = 'AND r.priority <= ? AND r.accepted_offset < ?';
const BESIDE = 'AND (r.priority > ? AND r.accepted_offset < ? OR r.priority < ? AND r.accepted_offset > ?)';
const WAITING_ROW = `SELECT r.run AS runId, r.row ->> '$.host' AS hostId, r.priority,
  r.accepted_offset AS acceptedOffset, r.row ->> '$.acceptedAt' AS acceptedAt`;

/** Slots, the queue for them, holds and small values in SQLite. */
export function createWorkingRows(statements: Statements): WorkingRows {
  const runIds = (sql: string, value: string) =>
    statements.all<{ id: string }>(sql, value).map(({ id }) => id);
  const countQueued = (where: string, ...values: unknown[]): number => {
    const count = (sql: string): number =>
      statements.get<{ n: number }>(`${sql} ${where}`, ...values)?.n ?? 0;
    return count(COUNT) - count(COUNT_PLACED);
  };
  return {
    slot: (runId) => statements.get<SlotRow>(`${SLOT} WHERE run = ?`, runId) ?? null,
    slots: (pool) =>
      pool === undefined
        ? statements.all<SlotRow>(`${SLOT} ORDER BY run`)
        : statements.all<SlotRow>(`${SLOT} WHERE pool = ? ORDER BY run`, pool),
    putSlot: ({ runId, pool, hostId }) =>
      statements.run('INSERT OR REPLACE INTO slots VALUES (?, ?, ?)', runId, pool, hostId),
    deleteSlot: (runId) => statements.run('DELETE FROM slots WHERE run = ?', runId) > 0,
    queue: (pool) => statements.all<WaitingRow>(`${WAITING_ROW} ${WAITING}`, pool),
    queueFronts: (pool) => {
      const fronts: WaitingRow[] = [];
      for (let last = 0; ;) {
        const sql = `${WAITING_ROW} ${WAITING} AND r.priority > ? ORDER BY r.priority, r.accepted_offset LIMIT 1`;
        const front = statements.get<WaitingRow>(sql, pool, last);
        if (front === undefined) return fronts;
        fronts.push(front);
        last = front.priority;
      }
    },
    queueCount: (pool) => countQueued('', pool),
    waiting: (pool, runId) =>
      statements.get<WaitingRow>(`${WAITING_ROW} ${WAITING} AND r.run = ?`, pool, runId) ?? null,
    countBefore: (pool, { priority, acceptedOffset }) => countQueued(BEFORE, pool, priority, acceptedOffset),
    queueBeside: (pool, { priority, acceptedOffset: at }) =>
      statements.all<WaitingRow>(`${WAITING_ROW} ${WAITING} ${BESIDE}`, pool, priority, at, priority, at),
    hold: (name) => statements.get<HoldRow>(`${HOLD} WHERE name = ?`, name) ?? null,
    holds: () => statements.all<HoldRow>(`${HOLD} ORDER BY name`),
    putHold: ({ name, holder, hostId }) =>
      statements.run('INSERT INTO holds VALUES (?, ?, ?)', name, holder, hostId),
    deleteHold: (name) => statements.run('DELETE FROM holds WHERE name = ?', name) > 0,
    rowsOfHost: (hostId) => ({
      slots: runIds('SELECT run AS id FROM slots WHERE host = ? ORDER BY run', hostId),
      holds: runIds('SELECT name AS id FROM holds WHERE host = ? ORDER BY name', hostId),
    }),
    hostIds: () =>
      statements
        .all<{ host: string }>('SELECT host FROM slots UNION SELECT host FROM holds ORDER BY 1')
        .map(({ host }) => host),
    value: (space, key) =>
      statements.get<{ value: string }>('SELECT value FROM kv WHERE space = ? AND key = ?', space, key)
        ?.value ?? null,
    values: (space) =>
      statements.all<{ key: string; text: string }>(
        'SELECT key, value AS text FROM kv WHERE space = ? ORDER BY key',
        space,
      ),
    putValue: (space, key, text) =>
      statements.run('INSERT OR REPLACE INTO kv VALUES (?, ?, ?)', space, key, text),
    deleteValue: (space, key) => statements.run('DELETE FROM kv WHERE space = ? AND key = ?', space, key) > 0,
  };
}
