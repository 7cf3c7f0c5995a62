import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { Draft } from '../draft.ts';
import { LedgerGoneError } from '../errors.ts';
import type { BeforeMigration, Storage } from '../storage.ts';
import { createEventRows } from './event-rows.ts';
import { HeadCache } from './head-cache.ts';
import { findCutPage } from './missing-end.ts';
import { BUSY_TIMEOUT_MS, openDatabase } from './open-database.ts';
import type { OwnCommits } from './own-commits.ts';
import { createProjectionRows } from './projection-rows.ts';
import type { Migration } from './schema.ts';
import { Statements } from './statements.ts';
import type { FileIdentity } from './thread-messages.ts';
import { translating } from './translate-error.ts';
import { watchFile } from './watch-file.ts';
import { createWorkingRows } from './working-rows.ts';
import type { InTurn } from './write-turns.ts';

/** A commit of another process takes about so long. */
const BRIEFLY_MS = 20;

export interface SqliteStorage extends Storage {
  /** Which file was opened; null when it was gone at once. */
  readonly identity: FileIdentity | null;
}

export interface SqliteOptions {
  readonly patienceMs?: number | undefined;
  /** How long one write waits for other processes at most, and holds its thread. */
  readonly blocksMs?: number | undefined;
  readonly beforeMigration?: BeforeMigration | undefined;
  /** What another connection of this process commits. */
  readonly own?: OwnCommits;
  /** Waits for the turn of this connection among those of the process. */
  readonly inTurn?: InTurn;
  /** The file that must be there. */
  readonly identity?: FileIdentity;
}

/** Keeps a ledger in one SQLite file: WAL, synchronous FULL, several processes at once. */
export function openSqliteStorage(
  file: string,
  migrations?: readonly Migration[],
  options: SqliteOptions = {},
): SqliteStorage {
  const { own, identity: wanted } = options;
  if (wanted !== undefined) demandFile(file, wanted);
  const db = openDatabase(file, migrations, options.beforeMigration);
  const { inTurn, briefly } = createWaits(db, options);
  const identity = wanted ?? identify(file);
  const isThere = (): boolean => isSameFile(file, identity);
  const statements = new Statements(db);
  const events = createEventRows(statements);
  const projections = createProjectionRows(statements, file);
  const heads = new HeadCache();
  const dataVersion = () => readDataVersion(statements);

  function writeAlone<T>(work: () => T): T {
    if (!isThere()) throw new LedgerGoneError(file);
    try {
      // IMMEDIATE: the heads that are read inside must still be the heads when the rows are written.
      return transact(db, statements, 'BEGIN IMMEDIATE', () => {
        heads.enter(dataVersion());
        return work();
      });
    } catch (error) {
      heads.forget();
      throw error;
    } finally {
      heads.leave();
    }
  }

  return {
    file,
    identity,
    isThere,
    read: (work) => translating(file, () => transact(db, statements, 'BEGIN', work)),
    write: (work) => translating(file, () => inTurn(() => writeAlone(work))),
    writeWorking: (work) => translating(file, () => inTurn(() => withoutSync(db, () => writeAlone(work)))),
    briefly,
    ...events,
    ...projections,
    stream: (runId) => heads.get(runId, () => events.stream(runId)),
    apply: (draft: Draft) => {
      for (const record of draft.events) events.insert(record);
      for (const [runId, stream] of draft.changedStreams()) {
        events.putStream(runId, stream);
        heads.put(runId, stream);
      }
      if (draft.events.length > 0) events.putTotal(draft.total());
      projections.put(draft);
    },
    damage: () => findDamage(db, file),
    working: createWorkingRows(statements),
    watchOthers: (onChange) =>
      watchFile({ file, readVersion: dataVersion, readCount: () => events.total().count, own }, onChange),
    close: () => void db.close(),
  };
}

/** How long the connection waits for others. */
function createWaits(
  db: Database.Database,
  {
    patienceMs = BUSY_TIMEOUT_MS,
    blocksMs = BUSY_TIMEOUT_MS,
    inTurn: takeTurn = (work) => work(),
  }: SqliteOptions,
): Pick<Storage, 'briefly'> & { inTurn<T>(work: () => T): T } {
  const longestMs = Math.min(patienceMs, blocksMs, BUSY_TIMEOUT_MS);
  let waitsMs = BUSY_TIMEOUT_MS;
  const waitAtMost = (ms: number): void => {
    if (ms !== waitsMs) db.pragma(`busy_timeout = ${ms}`);
    waitsMs = ms;
  };
  waitAtMost(longestMs);
  return {
    inTurn: (work) => takeTurn(work, waitsMs),
    briefly(work) {
      waitAtMost(BRIEFLY_MS);
      try {
        return work();
      } finally {
        waitAtMost(longestMs);
      }
    },
  };
}

/** Changes when another connection has committed. */
function readDataVersion(statements: Statements): number {
  return statements.get<{ data_version: number }>('PRAGMA data_version')?.data_version ?? -1;
}

/** Opening would make a new file where there is none. */
function demandFile(file: string, identity: FileIdentity): void {
  if (!isSameFile(file, identity)) throw new LedgerGoneError(file);
}

function identify(file: string): FileIdentity | null {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? null : { ino: found.ino, dev: found.dev };
}

/** SQLite continues to write to a file without a name, and that data could never be read. */
function isSameFile(file: string, identity: FileIdentity | null): boolean {
  const found = identify(file);
  return found !== null && found.ino === identity?.ino && found.dev === identity.dev;
}

/** In the WAL a commit without its own fsync is ordered before the next one that has it, and made durable by it. */
function withoutSync<T>(db: Database.Database, work: () => T): T {
  db.pragma('synchronous = NORMAL');
  try {
    return work();
  } finally {
    db.pragma('synchronous = FULL');
  }
}

function transact<T>(db: Database.Database, statements: Statements, begin: string, work: () => T): T {
  statements.run(begin);
  try {
    const result = work();
    statements.run('COMMIT');
    return result;
  } catch (error) {
    // SQLite has already rolled back after some failures, a full disk among them.
    if (db.inTransaction) statements.run('ROLLBACK');
    throw error;
  }
}

function findDamage(db: Database.Database, file: string): string[] {
  const rows = db.pragma('integrity_check(20)') as { integrity_check: string }[];
  const cut = findCutPage(file);
  return rows
    .map((row) => row.integrity_check)
    .filter((text) => text !== 'ok')
    .concat(cut ?? []);
}
