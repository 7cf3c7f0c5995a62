/**
 * The database of a group, opened when a sense first uses it; every thread has its own connection. All that a compute writes
 * is one transaction: it begins with the first write, so that a compute that only reads stops nobody, and ends with the
 * compute (RE7).
 */
import { existsSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { isRecord } from '@caisson/protocol';
import { InvalidUse } from './checked-json.ts';

const BUSY_MS = 5000;
const MAX_STATEMENTS = 256;

export type SqlValue = string | number | bigint | null;
export type SqlRow = ReturnType<StatementSync['all']>[number];

export class GroupDatabase {
  readonly #path: string;
  readonly #statements = new Map<string, StatementSync>();
  #opened: DatabaseSync | null = null;
  #isComputing = false;
  #hasWritten = false;
  #depth = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Whether anything was ever stored. */
  get exists(): boolean {
    return this.#opened !== null || existsSync(this.#path);
  }

  read(sql: string, ...values: readonly SqlValue[]): SqlRow[] {
    return this.#prepare(sql).all(...values);
  }

  /** A part of the present compute; refused outside of one. Returns how many rows it changed. */
  write(sql: string, ...values: readonly SqlValue[]): number {
    this.#beginWriting();
    return Number(this.#prepare(sql).run(...values).changes);
  }

  /** As `write`, for a statement that returns rows. */
  writeAndRead(sql: string, ...values: readonly SqlValue[]): SqlRow[] {
    this.#beginWriting();
    return this.#prepare(sql).all(...values);
  }

  /** Our own, between two computes. False, and nothing is written, while another sense of the group writes. */
  tryWriteAlone(work: () => void): boolean {
    if (this.#isComputing) return false;
    const database = this.#open();
    database.exec('PRAGMA busy_timeout = 0');
    try {
      this.beginCompute();
      work();
      this.commitCompute();
      return true;
    } catch {
      this.undoCompute();
      return false;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }

  /** A part of the compute that can be undone alone. */
  transaction<T>(work: () => T): T {
    const database = this.#beginWriting();
    this.#depth += 1;
    const name = `s${this.#depth}`;
    database.exec(`SAVEPOINT ${name}`);
    try {
      const result = work();
      if (isRecord(result) && typeof result['then'] === 'function')
        throw new InvalidUse('the work of a transaction must not be asynchronous');
      database.exec(`RELEASE ${name}`);
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec(`ROLLBACK TO ${name}; RELEASE ${name}`);
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  /** Whether the present compute has written. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  beginCompute(): void {
    this.#isComputing = true;
    this.#hasWritten = false;
  }

  /** Throws if what the compute wrote is not all there; `undoCompute` must follow then. */
  commitCompute(): void {
    if (this.#hasWritten) {
      this.#beginWriting();
      this.#prepare('COMMIT').run();
    }
    this.#isComputing = false;
  }

  undoCompute(): void {
    this.#isComputing = false;
    if (this.#opened?.isTransaction === true) this.#opened.exec('ROLLBACK');
  }

  #beginWriting(): DatabaseSync {
    if (!this.#isComputing) throw new InvalidUse('state can be changed only while its compute is under way');
    const database = this.#open();
    // SQLite undoes everything when a disk is full, for example.
    if (this.#hasWritten && !database.isTransaction)
      throw new Error('what this compute wrote was undone by the database');
    if (!this.#hasWritten) this.#prepare('BEGIN IMMEDIATE').run();
    this.#hasWritten = true;
    return database;
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#open().prepare(sql);
    if (this.#statements.size < MAX_STATEMENTS) this.#statements.set(sql, statement);
    return statement;
  }

  #open(): DatabaseSync {
    return (this.#opened ??= openDatabase(this.#path));
  }
}

function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  database.exec(`PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS caisson_state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS caisson_outbox (
      id TEXT PRIMARY KEY, sense TEXT NOT NULL, causes TEXT NOT NULL, signals TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS caisson_done (n INTEGER PRIMARY KEY, sense TEXT NOT NULL, id TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS caisson_done_by_id ON caisson_done (sense, id);
    DROP INDEX IF EXISTS caisson_done_by_age`); // of an earlier version: a page more in each commit
  return database;
}
