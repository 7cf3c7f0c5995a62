/** Writes another history into a ledger, as a process would that can write only the state folder. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { canonicalJson, hashEvent, openLedger, ZERO_HASH } from '../../packages/engine/src/ledger/index.ts';

export interface ForgedEvent {
  runId: string | null;
  id: string;
  attempt: number;
  type: string;
  version: number;
  at: string;
  trace: string;
  data: Record<string, unknown>;
}

const TRIGGERS = ['events_never_change', 'events_never_go'];

/** Gives every event to `change`, and whatever that returns a place, a hash and heads: the ledger holds together again. */
export async function forgeLedger(
  stateDir: string,
  change: (events: ForgedEvent[], database: DatabaseSync) => ForgedEvent[],
): Promise<void> {
  const file = join(stateDir, 'ledger.db');
  const database = new DatabaseSync(file);
  const triggers = database
    .prepare(`SELECT sql FROM sqlite_schema WHERE name IN ('${TRIGGERS.join("', '")}')`)
    .all();
  const rows = database.prepare('SELECT * FROM events ORDER BY offset').all();
  const events = rows.map(({ run, data, ...row }) => ({
    ...(row as unknown as ForgedEvent),
    runId: run === '' ? null : String(run),
    data: JSON.parse(String(data)) as Record<string, unknown>,
  }));
  database.exec(`BEGIN; ${TRIGGERS.map((name) => `DROP TRIGGER ${name};`).join('')}
    DELETE FROM events; DELETE FROM streams; DELETE FROM seals;`);
  writeEvents(database, change(events, database));
  for (const { sql } of triggers) database.exec(String(sql));
  database.exec('COMMIT');
  database.close();
  const ledger = openLedger(file);
  ledger.rebuildProjections();
  const { ok, problems } = ledger.verifyAll();
  await ledger.close();
  if (!ok) throw new Error(`a forgery that is found by itself proves nothing: ${problems.join(' ')}`);
}

function writeEvents(database: DatabaseSync, events: readonly ForgedEvent[]): void {
  const heads = new Map<string | null, { count: number; head: string; offset: number }>();
  const insert = database.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  let last = ZERO_HASH;
  for (const [index, event] of events.entries()) {
    const { runId, id, attempt, type, version, at, trace, data } = event;
    const before = heads.get(runId) ?? { count: 0, head: ZERO_HASH, offset: 0 };
    const [offset, seq, prevHash] = [index + 1, before.count + 1, before.head];
    last = hashEvent({ runId, id, attempt, type, version, at, trace, data, seq, prevHash, hash: '' });
    const place = [offset, runId ?? '', seq, id, attempt, type, version, at, trace];
    insert.run(...place, canonicalJson(data), before.offset, prevHash, last);
    heads.set(runId, { count: seq, head: last, offset });
  }
  for (const [runId, { count, head, offset }] of heads)
    database.prepare('INSERT INTO streams VALUES (?, ?, ?, ?, 0)').run(runId ?? '', count, head, offset);
  database.prepare('UPDATE totals SET count = ?, head = ?').run(events.length, last);
}
