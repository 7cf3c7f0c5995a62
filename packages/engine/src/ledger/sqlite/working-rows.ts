import type { HoldRow, SlotRow } from '../contract.ts';
import type { WorkingRows } from '../storage.ts';
import type { Statements } from './statements.ts';

const SLOT = 'SELECT run AS runId, pool, host AS hostId FROM slots';
const QUEUED = 'SELECT run AS runId, pool, host AS hostId FROM queue';
const HOLD = 'SELECT name, holder, host AS hostId FROM holds';
// A run that was cancelled while it waited must not block those behind it, so the status is asked here.
const LIVE_QUEUE = `FROM queue q JOIN runs r ON r.run = q.run WHERE q.pool = ? AND r.status = 'queued'`;
const IN_TURN = 'ORDER BY r.priority, r.accepted_offset';

/** Slots, queue, holds and small values in SQLite. */
export function createWorkingRows(statements: Statements): WorkingRows {
  const runIds = (sql: string, value: string) =>
    statements.all<{ id: string }>(sql, value).map(({ id }) => id);
  return {
    slot: (runId) => statements.get<SlotRow>(`${SLOT} WHERE run = ?`, runId) ?? null,
    slots: (pool) =>
      pool === undefined
        ? statements.all<SlotRow>(`${SLOT} ORDER BY run`)
        : statements.all<SlotRow>(`${SLOT} WHERE pool = ? ORDER BY run`, pool),
    putSlot: ({ runId, pool, hostId }) =>
      statements.run('INSERT OR REPLACE INTO slots VALUES (?, ?, ?)', runId, pool, hostId),
    deleteSlot: (runId) => statements.run('DELETE FROM slots WHERE run = ?', runId) > 0,
    queued: (runId) => statements.get<SlotRow>(`${QUEUED} WHERE run = ?`, runId) ?? null,
    queue: (pool) =>
      statements.all<SlotRow>(
        `SELECT q.run AS runId, q.pool, q.host AS hostId ${LIVE_QUEUE} ${IN_TURN}`,
        pool,
      ),
    queueHead: (pool) =>
      statements.get<{ id: string }>(`SELECT q.run AS id ${LIVE_QUEUE} ${IN_TURN} LIMIT 1`, pool)?.id ?? null,
    queueCount: (pool) => statements.get<{ n: number }>(`SELECT count(*) AS n ${LIVE_QUEUE}`, pool)?.n ?? 0,
    putQueued: ({ runId, pool, hostId }) =>
      statements.run('INSERT OR REPLACE INTO queue VALUES (?, ?, ?)', runId, pool, hostId),
    deleteQueued: (runId) => statements.run('DELETE FROM queue WHERE run = ?', runId) > 0,
    hold: (name) => statements.get<HoldRow>(`${HOLD} WHERE name = ?`, name) ?? null,
    holds: () => statements.all<HoldRow>(`${HOLD} ORDER BY name`),
    putHold: ({ name, holder, hostId }) =>
      statements.run('INSERT INTO holds VALUES (?, ?, ?)', name, holder, hostId),
    deleteHold: (name) => statements.run('DELETE FROM holds WHERE name = ?', name) > 0,
    rowsOfHost: (hostId) => ({
      slots: runIds('SELECT run AS id FROM slots WHERE host = ? ORDER BY run', hostId),
      queued: runIds('SELECT run AS id FROM queue WHERE host = ? ORDER BY run', hostId),
      holds: runIds('SELECT name AS id FROM holds WHERE host = ? ORDER BY name', hostId),
    }),
    hostIds: () =>
      statements
        .all<{ host: string }>(
          'SELECT host FROM slots UNION SELECT host FROM queue UNION SELECT host FROM holds ORDER BY 1',
        )
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
