// Opening never guesses and never overwrites: a file is ours by its application id, and a new one appears complete or
// not at all. An empty ledger.db is therefore always a damaged one.

import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import { makeFolder, publishNewFileSync, removeFileSync } from '@caisson/ground';
import {
  LedgerCorruptError,
  LedgerForeignError,
  LedgerTooNewError,
  LedgerTruncatedError,
} from '../errors.ts';
import { findAddon } from './find-addon.ts';
import { isLogAlone } from './log-alone.ts';
import { findCutPage } from './missing-end.ts';
import { createLedgerId, LEDGER_ID } from '../ledger-id.ts';
import type { BeforeMigration } from '../storage.ts';
import { APPLICATION_ID, latestVersion, MIGRATIONS } from './schema.ts';
import type { Migration } from './schema.ts';
import { translating } from './translate-error.ts';

/** How long one transaction waits, blocking, for other processes. */
export const BUSY_TIMEOUT_MS = 5_000;
// Small enough that the log is soon written over again, which syncs faster than a growing file; large enough that the
// checkpoint's own fsyncs stay out of the 99th percentile of a single append.
const CHECKPOINT_PAGES = 2_000;
const PAGE_BYTES = 8_192;

interface Forms {
  readonly migrations: readonly Migration[];
  readonly beforeMigration: BeforeMigration;
}

/** Opens the ledger's database, creating or migrating it when needed. */
export function openDatabase(
  file: string,
  migrations: readonly Migration[] = MIGRATIONS,
  beforeMigration: BeforeMigration = () => undefined,
): Database.Database {
  return translating(file, () => {
    if (!existsSync(file)) createFile(file, migrations);
    demandFile(file);
    if (statSync(file).size === 0) throw new LedgerTruncatedError(file, 'it is empty, and a ledger never is');
    return connect(file, { migrations, beforeMigration });
  });
}

/** For a folder or a pipe, SQLite would only report that it cannot be opened. */
function demandFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new LedgerForeignError(file, 'it is a link to something that does not exist');
  if (found.isDirectory()) throw new LedgerForeignError(file, 'it is a folder');
  if (!found.isFile()) throw new LedgerForeignError(file, 'it is a pipe, a socket or a device');
}

function connect(file: string, how: Forms): Database.Database {
  try {
    return connectWith('', file, how);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    // The disk has no space even for the 32 KiB of shared memory beside the file. Alone, SQLite needs none: the records
    // stay readable, but other processes wait until this one closes.
    return connectWith('PRAGMA locking_mode = EXCLUSIVE;', file, how);
  }
}

function connectWith(setup: string, file: string, how: Forms): Database.Database {
  const db = new Database(file, {
    fileMustExist: true,
    timeout: BUSY_TIMEOUT_MS,
    nativeBinding: findAddon(),
  });
  try {
    if (setup !== '') db.exec(setup);
    prepareConnection(db, file, how);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_IOERR_SHMSIZE';
}

function prepareConnection(
  db: Database.Database,
  file: string,
  { migrations, beforeMigration }: Forms,
): void {
  const applicationId = db.pragma('application_id', { simple: true });
  if (applicationId !== APPLICATION_ID)
    throw new LedgerForeignError(file, 'it is a database of another program');
  const cut = findCutPage(file); // checked before anything is written, which would hide it
  if (cut !== null) throw new LedgerTruncatedError(file, cut);
  const version = Number(db.pragma('user_version', { simple: true }));
  const known = latestVersion(migrations);
  if (version > known) throw new LedgerTooNewError(file, version, known);
  db.exec(
    `PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA cell_size_check = ON;`,
  );
  if (version < known) migrate(db, file, { migrations, beforeMigration });
}

/** Migrates the file in one transaction, or leaves it as it was. */
function migrate(db: Database.Database, file: string, { migrations, beforeMigration }: Forms): void {
  db.transaction(() => {
    // Another process may have been faster, or newer.
    const version = Number(db.pragma('user_version', { simple: true }));
    const known = latestVersion(migrations);
    if (version > known) throw new LedgerTooNewError(file, version, known);
    if (version < known) beforeMigration((space, key) => readValue(db, space, key));
    for (const migration of migrations) if (migration.version > version) apply(db, migration);
  }).immediate();
}

function readValue(db: Database.Database, space: string, key: string): unknown {
  const row = db.prepare('SELECT value FROM kv WHERE space = ? AND key = ?').get(space, key);
  const text = (row as { value: string } | undefined)?.value;
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

function apply(db: Database.Database, migration: Migration): void {
  db.exec(migration.sql);
  db.prepare('INSERT INTO schema_versions VALUES (?, ?)').run(migration.version, new Date().toISOString());
  db.pragma(`user_version = ${migration.version}`);
}

/** Builds the new ledger under another name and links it into place, so that two creators cannot collide. */
function createFile(file: string, migrations: readonly Migration[]): void {
  if (isLogAlone(file)) {
    throw new LedgerCorruptError(file, 'the file is gone but its write-ahead log is still there');
  }
  const folder = dirname(file);
  makeFolder(folder);
  const draft = join(folder, `.${basename(file)}.${process.pid}.${randomBytes(4).toString('hex')}.new`);
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    buildSchema(draft, migrations);
    publishNewFileSync(draft, file);
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) removeFileSync(draft + suffix);
  }
}

function buildSchema(draft: string, migrations: readonly Migration[]): void {
  const db = new Database(draft, { nativeBinding: findAddon() });
  try {
    // No process sees the draft before it is synced as a whole, so its own transactions need not be durable.
    db.exec(
      `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA application_id = ${APPLICATION_ID};`,
    );
    db.transaction(() => {
      for (const migration of migrations) apply(db, migration);
      db.prepare('INSERT INTO kv VALUES (?, ?, ?)').run(...LEDGER_ID, JSON.stringify(createLedgerId()));
    })();
    db.pragma('journal_mode = WAL');
  } finally {
    db.close();
  }
}
