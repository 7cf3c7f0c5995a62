import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLedger } from '../create-ledger.ts';
import { fact } from '../fixtures/sample-events.ts';
import { LedgerForeignError, LedgerTooNewError, openLedger } from '../index.ts';
import { MIGRATIONS } from './schema.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

describe('a file that is not our ledger', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
    file = join(folder, 'ledger.db');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('text is refused and left as it is', () => {
    writeFileSync(file, 'dear diary, '.repeat(1_000));
    expect(thrownBy(() => openLedger(file))).toBeInstanceOf(LedgerForeignError);
    expect(readFileSync(file, 'utf8')).toBe('dear diary, '.repeat(1_000));
  });

  test("another program's database is refused and left as it is", () => {
    const db = new Database(file);
    db.exec('CREATE TABLE notes (text TEXT)');
    db.close();
    const before = readFileSync(file);
    expect(thrownBy(() => openLedger(file))).toBeInstanceOf(LedgerForeignError);
    expect(readFileSync(file)).toEqual(before);
  });

  test('a newer schema is refused, and an older one is brought forward with its events', async () => {
    const next = [...MIGRATIONS, { version: 2, sql: 'CREATE TABLE notes (text TEXT) STRICT;' }];
    const old = openLedger(file);
    await old.append([fact('run_a')]);
    await old.close();
    const migrated = createLedger(openSqliteStorage(file, next));
    await migrated.append([fact('run_a')]);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, events: 2 });
    await migrated.close();
    const error = thrownBy(() => openLedger(file));
    expect(error).toBeInstanceOf(LedgerTooNewError);
    expect(String(error)).toContain('schema version 2');
  });

  test('a migration that fails leaves the old version behind', async () => {
    await openLedger(file).close();
    const broken = [...MIGRATIONS, { version: 2, sql: 'CREATE TABLE notes (text TEXT); CREATE NONSENSE;' }];
    expect(() => openSqliteStorage(file, broken)).toThrow('NONSENSE');
    const ledger = openLedger(file);
    expect(ledger.verifyAll().ok).toBe(true);
    await ledger.close();
  });
});

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
