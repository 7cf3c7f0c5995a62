import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLedger } from '../create-ledger.ts';
import { accepted, approval, AT, fact, finished, launched, usageOf } from '../fixtures/sample-events.ts';
import { threadAccepted, threadStarted } from '../fixtures/sample-threads.ts';
import { DEFAULT_POOL, LedgerForeignError, LedgerTooNewError, openLedger } from '../index.ts';
import { latestVersion, MIGRATIONS } from './schema.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const NEXT = latestVersion(MIGRATIONS) + 1;

/** What the eighth version added, and the seventh with it. */
const WITHOUT_THREADS = 'DROP TABLE threads;';
const WITHOUT_BRANCHES = `${WITHOUT_THREADS} DROP INDEX runs_by_waiting_branch; ALTER TABLE runs DROP COLUMN waiting_branch;`;

/** What the fifth version and those behind it added. */
const WITHOUT_PAGES = [
  ...['session', 'agent', 'runtime', 'earlier', 'time', 'ending', 'id_end'].map((name) => `runs_by_${name}`),
  ...['questions_by_run', 'spend_by_session'],
]
  .map((index) => `DROP INDEX ${index};`)
  .concat(
    ['agent', 'runtime', 'continues', 'accepted_at', 'ended_at'].map(
      (name) => `ALTER TABLE runs DROP COLUMN ${name};`,
    ),
  )
  .concat('DROP TABLE approvals;', WITHOUT_BRANCHES)
  .join('');

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

  test.each([
    ['a folder', () => mkdirSync(file), 'it is a folder'],
    ['a pipe', () => execFileSync('mkfifo', [file]), 'it is a pipe, a socket or a device'],
    ['a link that leads nowhere', () => symlinkSync('gone', file), 'a link to something that does not exist'],
  ])('%s is refused and left as it is', (_what, make, problem) => {
    make();
    const error = thrownBy(() => openLedger(file));
    expect(error).toBeInstanceOf(LedgerForeignError);
    expect(String(error)).toContain(problem);
    expect(readdirSync(folder)).toEqual(['ledger.db']);
  });

  test('a newer schema is refused, and an older one is brought forward with its events', async () => {
    const next = [...MIGRATIONS, { version: NEXT, sql: 'CREATE TABLE notes (text TEXT) STRICT;' }];
    const old = openLedger(file);
    await old.append([fact('run_a')]);
    await old.close();
    const migrated = createLedger(openSqliteStorage(file, next));
    await migrated.append([fact('run_a')]);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, events: 2 });
    await migrated.close();
    const error = thrownBy(() => openLedger(file));
    expect(error).toBeInstanceOf(LedgerTooNewError);
    expect(String(error)).toContain(`schema version ${NEXT}`);
  });

  test('the queue of the first version is derived from its events', async () => {
    const ledger = openLedger(file);
    await ledger.append([
      accepted('run_a'),
      accepted('run_b', {}, 1),
      accepted('run_c'),
      launched('run_c', 1),
    ]);
    await ledger.close();
    const db = new Database(file);
    db.exec(`${WITHOUT_PAGES} DROP INDEX runs_in_turn; ALTER TABLE runs DROP COLUMN queued_in;
      DROP INDEX runs_unsealed; ALTER TABLE runs DROP COLUMN unsealed;
      CREATE TABLE queue (run TEXT PRIMARY KEY, pool TEXT NOT NULL, host TEXT NOT NULL) STRICT, WITHOUT ROWID;
      DELETE FROM schema_versions WHERE version > 1; PRAGMA user_version = 1;`);
    db.close();
    const migrated = openLedger(file);
    expect(migrated.leases.listQueue(DEFAULT_POOL, Date.parse(AT))).toEqual([
      { runId: 'run_b', pool: DEFAULT_POOL, hostId: 'host_1' },
      { runId: 'run_a', pool: DEFAULT_POOL, hostId: 'host_1' },
    ]);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await migrated.close();
  });

  test('a ledger of the second version learns which runs have no seal', async () => {
    const ledger = openLedger(file);
    const sealed = { ...fact('run_a'), id: 'evidence.sealed:run_a', type: 'evidence.sealed' };
    await ledger.append([accepted('run_a'), finished('run_a', 0), sealed]);
    await ledger.append([accepted('run_b'), finished('run_b', 0), accepted('run_c')]);
    await ledger.close();
    const db = new Database(file);
    db.exec(`${WITHOUT_PAGES} DROP INDEX runs_unsealed; ALTER TABLE runs DROP COLUMN unsealed;
      UPDATE runs SET row = json_remove(row, '$.unsealed', '$.check');
      DELETE FROM schema_versions WHERE version > 2; PRAGMA user_version = 2;`);
    db.close();
    const migrated = openLedger(file);
    expect(migrated.runs({ unsealed: true })).toMatchObject([{ runId: 'run_b', unsealed: true }]);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await migrated.close();
  });

  test('a ledger of the third version learns which runs were answered', async () => {
    const ledger = openLedger(file);
    const question = (type: string, data: Record<string, unknown>) => ({
      ...fact('run_a', { questionId: 'q_1', ...data }),
      attempt: 0,
      type,
    });
    await ledger.append([
      accepted('run_a'),
      question('question.asked', { text: 'red?' }),
      { ...finished('run_a', 0), type: 'dispatch.needs_input' },
      question('question.answered', { answer: 'yes', continuedBy: 'run_b' }),
    ]);
    await ledger.append([accepted('run_b'), { ...finished('run_b', 0), type: 'dispatch.needs_input' }]);
    await ledger.close();
    const db = new Database(file);
    db.exec(`${WITHOUT_PAGES} UPDATE runs SET status = 'waiting',
        row = json_set(json_remove(row, '$.continuedBy', '$.check'), '$.status', 'waiting');
      DELETE FROM schema_versions WHERE version > 3; PRAGMA user_version = 3;`);
    db.close();
    const migrated = openLedger(file);
    expect(migrated.runs({ status: 'answered' })).toMatchObject([{ runId: 'run_a', continuedBy: 'run_b' }]);
    expect(migrated.runs({ status: 'waiting' })).toMatchObject([{ runId: 'run_b' }]);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await migrated.close();
  });

  test('a ledger of the fourth version learns its approvals, and what its lists are found by', async () => {
    const ledger = openLedger(file);
    await ledger.append([
      accepted('run_b', { agent: 'fixer', continues: 'run_x' }),
      finished('run_b', 0),
      accepted('run_a'),
      launched('run_a', 1),
      ...['approval_1', 'approval_2'].map((id) => approval('requested', id)),
      approval('decided', 'approval_1'),
      { ...approval('requested', 'approval_3'), runId: 'run_b' },
    ]);
    const before = ledger.approvals();
    expect(before.map(({ status }) => status)).toEqual(['allowed', 'open', 'denied']);
    await ledger.close();
    const db = new Database(file);
    db.exec(`${WITHOUT_PAGES} DELETE FROM schema_versions WHERE version > 4; PRAGMA user_version = 4;`);
    db.close();
    const migrated = openLedger(file);
    expect(migrated.approvals()).toEqual(before);
    expect(migrated.runs({ agent: 'fixer', continues: 'run_x' })).toMatchObject([{ runId: 'run_b' }]);
    expect(migrated.runs({ order: 'ended' })).toMatchObject([{ runId: 'run_b' }]);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await migrated.close();
  });

  test('a ledger of the fifth version learns which runs were applied or forgotten', async () => {
    const ledger = openLedger(file);
    const applied = (runId: string, hasConflicts: boolean) => ({
      ...fact(runId, { files: 1, hasConflicts }),
      type: 'run.applied',
      attempt: 0,
    });
    for (const runId of ['run_a', 'run_b', 'run_c', 'run_d'])
      await ledger.append([accepted(runId), finished(runId, 0)]);
    await ledger.append([
      applied('run_a', true),
      applied('run_b', true),
      { ...applied('run_b', false), at: '2026-01-03T00:00:00.000Z' },
      { ...fact('run_b'), type: 'run.forgotten', attempt: 0 },
      { ...fact('run_c'), type: 'run.forgotten', attempt: 0 },
    ]);
    const before = ledger.runs();
    expect(before).toMatchObject([
      { runId: 'run_a', appliedAt: AT, appliedWithConflicts: true },
      { runId: 'run_b', appliedAt: '2026-01-03T00:00:00.000Z', forgottenAt: AT },
      { runId: 'run_c', forgottenAt: AT },
      { runId: 'run_d' },
    ]);
    await ledger.close();
    const db = new Database(file);
    db.exec(`${WITHOUT_BRANCHES} UPDATE runs SET row =
        json_remove(row, '$.appliedAt', '$.appliedWithConflicts', '$.forgottenAt', '$.check');
      INSERT INTO kv VALUES ('applied', 'run_d', '"${AT}"'), ('forgotten', 'run_d', '"${AT}"');
      DELETE FROM schema_versions WHERE version > 5; PRAGMA user_version = 5;`);
    db.close();
    const migrated = openLedger(file);
    expect(migrated.runs()).toEqual(before);
    expect([...migrated.kv.list('applied'), ...migrated.kv.list('forgotten')]).toEqual([]);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await migrated.close();
  });

  test('a ledger of the sixth version learns which branches wait', async () => {
    const ledger = openLedger(file);
    const branch = { name: 'work', commit: 'c'.repeat(40), status: 'created' };
    const failure = { reason: 'timeout', detail: '' };
    const add = async (runId: string, push: boolean | null, ending: string, ...later: string[]) => {
      const data = {
        durationMs: 1,
        branch,
        ...(ending === 'dispatch.failed' ? { failure } : { cause: 'user' }),
      };
      const repository = push === null ? {} : { repository: { remote: '/srv/r.git', push } };
      await ledger.append([
        accepted(runId, repository),
        { ...finished(runId, 0), type: ending, data },
        ...later.map((type) => ({ ...fact(runId, OUTCOMES[type]), attempt: 0, type })),
      ]);
    };
    const OUTCOMES: Record<string, Record<string, unknown>> = {
      'branch.pushed': { remote: '/srv/r.git', branch: 'work', commit: branch.commit },
      'branch.push-failed': { remote: '/srv/r.git', branch: 'work', reason: 'taken', detail: 'd' },
      'branch.dropped': { branch: 'work', commit: branch.commit },
    };
    await add('run_late', null, 'dispatch.failed');
    await add('run_drained', null, 'dispatch.failed', 'timeout.drained');
    await add('run_pending', true, 'dispatch.failed', 'timeout.drained');
    await add('run_stopped', true, 'dispatch.cancelled');
    await add('run_kept', false, 'dispatch.failed');
    await add('run_failed', true, 'dispatch.failed', 'branch.push-failed');
    await add('run_pushed', true, 'dispatch.failed', 'branch.push-failed', 'branch.pushed');
    await add('run_dropped', true, 'dispatch.failed', 'branch.push-failed', 'branch.dropped');
    await add('run_forgotten', true, 'dispatch.failed', 'branch.push-failed', 'run.forgotten');
    await add('run_own', null, 'dispatch.cancelled');
    const before = ledger.runs();
    expect(before.map(({ waitingBranch }) => waitingBranch ?? '')).toEqual(
      'late,,pending,kept,kept,failed,late,,,'.split(','),
    );
    await ledger.close();
    const db = new Database(file);
    db.exec(`${WITHOUT_BRANCHES} UPDATE runs SET row = json_remove(row, '$.waitingBranch', '$.pushes', '$.check');
      DELETE FROM schema_versions WHERE version > 6; PRAGMA user_version = 6;`);
    db.close();
    const migrated = openLedger(file);
    expect(migrated.runs()).toEqual(before);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await migrated.close();
  });

  test('a ledger of the seventh version can have threads', async () => {
    const ledger = openLedger(file);
    await ledger.append([accepted('run_a'), finished('run_a', 0)]);
    await ledger.close();
    const db = new Database(file);
    db.exec(`${WITHOUT_THREADS} DELETE FROM schema_versions WHERE version > 7; PRAGMA user_version = 7;`);
    db.close();
    const migrated = openLedger(file);
    await migrated.append([threadAccepted(), threadStarted()]);
    expect(migrated.threads().map(({ status }) => status)).toEqual(['running']);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, problems: [], runs: 1 });
    await migrated.close();
    expect(() => openSqliteStorage(file, MIGRATIONS.slice(0, 7))).toThrow(LedgerTooNewError);
  });

  test('a ledger of the eighth version learns who spent', async () => {
    const ledger = openLedger(file);
    const end = (...models: string[]) => ({ durationMs: 1, usage: usageOf(...models) });
    await ledger.append([
      accepted('run_a', { agent: 'fixer' }),
      { ...finished('run_a', 0), data: end('z', 'a') },
      accepted('run_b'),
      finished('run_b', 0),
    ]);
    const before = ledger.spend();
    expect(before).toMatchObject([
      { agent: 'fixer', runtime: 'command', models: ['a', 'z'] },
      { runtime: 'command' },
    ]);
    await ledger.close();
    const db = new Database(file);
    db.exec(`UPDATE spend SET row = json_remove(row, '$.agent', '$.runtime', '$.models', '$.check');
      DELETE FROM schema_versions WHERE version > 8; PRAGMA user_version = 8;`);
    db.close();
    const migrated = openLedger(file);
    expect(migrated.spend()).toEqual(before);
    expect(migrated.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await migrated.close();
  });

  test('a migration that fails leaves the old version behind', async () => {
    await openLedger(file).close();
    const broken = [
      ...MIGRATIONS,
      { version: NEXT, sql: 'CREATE TABLE notes (text TEXT); CREATE NONSENSE;' },
    ];
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
