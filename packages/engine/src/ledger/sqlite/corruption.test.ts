import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accepted, fact, finished } from '../fixtures/sample-events.ts';
import { hashEvent, toChainEvent } from '../event-record.ts';
import { LedgerCorruptError, openLedger } from '../index.ts';

const UNLOCK = 'DROP TRIGGER events_never_change; DROP TRIGGER events_never_go;';

describe('a damaged ledger file', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
    file = join(folder, 'ledger.db');
    const ledger = openLedger(file);
    await ledger.append([
      accepted('run_a'),
      fact('run_a', { marker: 'needle-in-the-file' }),
      finished('run_a', 0),
    ]);
    await ledger.append([accepted('run_b'), fact('run_b'), fact('run_b'), fact(null)]);
    await ledger.close();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('is created readable by its owner only, and so is its log', async () => {
    const ledger = openLedger(file);
    await ledger.append([fact('run_a')]);
    const modes = ['', '-wal', '-shm'].map((suffix) => statSync(file + suffix).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    await ledger.close();
  });

  test.each([
    [
      'changed data',
      `${UNLOCK} UPDATE events SET data = '{"marker":"forged"}' WHERE run = 'run_a' AND seq = 2`,
      2,
      'content was changed',
    ],
    [
      'a changed time',
      `${UNLOCK} UPDATE events SET at = '2020-01-01T00:00:00.000Z' WHERE run = 'run_a' AND seq = 1`,
      1,
      'content was changed',
    ],
    [
      'a changed link',
      `${UNLOCK} UPDATE events SET prev_hash = hash WHERE run = 'run_a' AND seq = 2`,
      2,
      'content was changed',
    ],
    ['a missing first row', `${UNLOCK} DELETE FROM events WHERE run = 'run_a' AND seq = 1`, 1, 'missing'],
    ['a missing row', `${UNLOCK} DELETE FROM events WHERE run = 'run_a' AND seq = 2`, 2, 'missing'],
    ['a missing tail', `${UNLOCK} DELETE FROM events WHERE run = 'run_a' AND seq = 3`, 3, 'missing'],
    ['a missing run', `${UNLOCK} DELETE FROM events WHERE run = 'run_a'`, 3, 'missing'],
    ['a forgotten head', `DELETE FROM streams WHERE run = 'run_a'`, 1, 'ended at 3'],
    ['a missing end', `DELETE FROM seals WHERE run = 'run_a'`, 3, 'recorded end is missing'],
  ])('%s is named when the run is read', async (_what, sql, seq, problem) => {
    tamper(file, sql);
    const ledger = openLedger(file);
    const error = thrownBy(() => ledger.read({ runId: 'run_a' }));
    expect(error).toBeInstanceOf(LedgerCorruptError);
    expect(error).toMatchObject({ file, runId: 'run_a', seq });
    expect(String(error)).toContain(problem);
    expect(String(error)).toContain(file);
    await expect(ledger.readRun('run_a')).rejects.toEqual(error);
    expect(thrownBy(() => ledger.read())).toBeInstanceOf(LedgerCorruptError);
    expect(ledger.verifyRun('run_a').ok).toBe(false);
    expect(ledger.verifyRun('run_b')).toMatchObject({ ok: true, count: 3 });
    expect(ledger.verifyAll().ok).toBe(false);
    await ledger.close();
  });

  test('an edited last event, or cursor, of a long run is named when it is read in pages', async () => {
    const ledger = openLedger(file);
    await ledger.append(Array.from({ length: 597 }, () => fact('run_b')));
    const walk = async (after: number, size: number): Promise<number> => {
      let count = 0;
      for await (const page of ledger.pageRun('run_b', after, size)) count += page.length;
      return count;
    };
    expect([await walk(0, 100), await walk(7, 100)]).toEqual([600, 593]);
    tamper(file, `${UNLOCK} UPDATE events SET data = '{"marker":"forged"}' WHERE run = 'run_b' AND seq = 7`);
    await expect(walk(7, 100)).rejects.toMatchObject({ runId: 'run_b', seq: 7 });
    // A forged event whose hash fits, where nothing follows that would not.
    const [last] = ledger.read({ runId: 'run_b', after: 599 });
    if (last === undefined) throw new Error('it has 600 events');
    const hash = hashEvent({ ...toChainEvent(last), data: { marker: 'forged' } });
    tamper(
      file,
      `UPDATE events SET data = '{"marker":"forged"}', hash = '${hash}' WHERE run = 'run_b' AND seq = 600`,
    );
    await expect(walk(300, 100)).rejects.toThrow('recorded head');
    await ledger.close();
  });

  test('a run that has not ended and lost its head is named too', async () => {
    tamper(file, `DELETE FROM streams WHERE run = 'run_b'`);
    const ledger = openLedger(file);
    expect(String(thrownBy(() => ledger.read({ runId: 'run_b' })))).toContain('its stream is not');
    expect(thrownBy(() => ledger.read())).toBeInstanceOf(LedgerCorruptError);
    await ledger.close();
  });

  test('the tail of an ended run is missed even when the count was cut to fit', async () => {
    tamper(
      file,
      `${UNLOCK} DELETE FROM events WHERE run = 'run_a' AND seq = 3;
       UPDATE streams SET count = 2, sealed = 0, head = (SELECT hash FROM events WHERE run = 'run_a' AND seq = 2) WHERE run = 'run_a'`,
    );
    const ledger = openLedger(file);
    expect(String(thrownBy(() => ledger.read({ runId: 'run_a' })))).toContain('ended at 3');
    await ledger.close();
  });

  test('a row cut out of the middle is a hole in the global order', async () => {
    tamper(file, `${UNLOCK} DELETE FROM events WHERE offset = 5`);
    const ledger = openLedger(file);
    expect(String(thrownBy(() => ledger.read()))).toContain('offset 5');
    expect(ledger.read({ limit: 4 }).length).toBe(4);
    expect(ledger.read({ runId: 'run_a' }).length).toBe(3);
    await ledger.close();
  });

  test.each([
    ['runs', `UPDATE runs SET status = 'done' WHERE run = 'run_b'`],
    ['runs', `UPDATE runs SET queued_in = NULL WHERE run = 'run_b'`],
    ['runs', `UPDATE runs SET priority = 1 WHERE run = 'run_b'`],
    ['runs', `UPDATE runs SET runtime = 'codex' WHERE run = 'run_b'`],
    ['runs', `UPDATE runs SET ended_at = NULL WHERE run = 'run_a'`],
    ['spend', `UPDATE spend SET day = '1999-01-01'`],
  ])('a row of %s that is filed under the wrong value is found by the whole check', async (table, sql) => {
    tamper(file, sql);
    const ledger = openLedger(file);
    expect(ledger.verifyAll().problems.join()).toContain(`is in the ${table} table under`);
    ledger.rebuildProjections();
    expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await ledger.close();
  });

  test('a projection that lost a row is found by the whole check and fixed by a rebuild', async () => {
    tamper(file, `DELETE FROM runs WHERE run = 'run_b'`);
    const ledger = openLedger(file);
    expect(ledger.verifyAll().problems.join()).toContain('the runs table is not what the events replay to');
    ledger.rebuildProjections();
    expect(ledger.run('run_b')?.status).toBe('queued');
    expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await ledger.close();
  });

  test('a byte that flips in a projection is named when it is read, and fixed by a rebuild', async () => {
    tamper(file, `UPDATE runs SET row = replace(row, '"queued"', '"quewed"') WHERE run = 'run_b'`);
    const ledger = openLedger(file);
    for (const read of [() => ledger.runs(), () => ledger.run('run_b')])
      expect(thrownBy(read)).toMatchObject({
        code: 'LEDGER_CORRUPT',
        message: expect.stringMatching(/ledger\.db is damaged: .* was changed\. .*caisson doctor --repair/),
      });
    expect(ledger.verifyAll().problems.join()).toContain('was changed');
    ledger.rebuildProjections();
    expect(ledger.run('run_b')?.status).toBe('queued');
    expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await ledger.close();
  });

  test('a row from before rows had a check is still read', async () => {
    tamper(file, `UPDATE runs SET row = json_remove(row, '$.check')`);
    const ledger = openLedger(file);
    expect(ledger.run('run_b')?.status).toBe('queued');
    expect(ledger.verifyAll()).toMatchObject({ ok: true });
    await ledger.close();
  });

  test('a counter that came apart from its rows stops appends by name', async () => {
    tamper(file, 'UPDATE totals SET count = 2');
    const ledger = openLedger(file);
    await expect(ledger.append([fact('run_b')])).rejects.toThrow(LedgerCorruptError);
    await ledger.close();
  });

  test('an event cannot be changed or deleted by accident', () => {
    const db = new Database(file);
    expect(() => db.exec(`UPDATE events SET at = ''`)).toThrow('an event never changes');
    expect(() => db.exec('DELETE FROM events')).toThrow('an event is never deleted');
    db.close();
  });

  test('a flipped byte in the file is named when it is read', async () => {
    const at = readFileSync(file).indexOf('needle-in-the-file');
    overwrite(file, at, Buffer.from('N'));
    const ledger = openLedger(file);
    expect(thrownBy(() => ledger.read({ runId: 'run_a' }))).toMatchObject({
      code: 'LEDGER_CORRUPT',
      runId: 'run_a',
      seq: 2,
    });
    await ledger.close();
  });

  test('no torn page goes unnoticed, whichever it is', async () => {
    const whole = join(folder, 'whole.db');
    copyFileSync(file, whole);
    const pageSize = 8192;
    const pages = statSync(whole).size / pageSize;
    const unnoticed: number[] = [];
    for (let page = 0; page < pages; page += 1) {
      const torn = join(folder, `torn-${page}.db`);
      copyFileSync(whole, torn);
      // The second half was never written.
      overwrite(torn, page * pageSize + pageSize / 2, Buffer.alloc(pageSize / 2));
      if (readFileSync(torn).equals(readFileSync(whole))) continue;
      if (await isWhole(torn)) unnoticed.push(page);
    }
    expect(unnoticed).toEqual([]);
  });

  test.each([1, 100, 2_000, 4_096, 12_288])(
    'cut off after %i bytes it is refused and left as it is',
    (size) => {
      truncateSync(file, size);
      const before = readFileSync(file);
      const error = thrownBy(() => openLedger(file).read());
      expect(error).toMatchObject({ code: expect.stringMatching(/^LEDGER_(TRUNCATED|FOREIGN)$/) as string });
      expect(String(error)).toContain(file);
      expect(readFileSync(file)).toEqual(before);
    },
  );

  test('cut off to nothing it is not taken for a new one', () => {
    truncateSync(file, 0);
    expect(thrownBy(() => openLedger(file))).toBeInstanceOf(LedgerCorruptError);
    expect(statSync(file).size).toBe(0);
  });

  test('gone while its log is still there it is not started again', async () => {
    const ledger = openLedger(file);
    await ledger.append([fact('run_b')]);
    const other = join(folder, 'other.db');
    copyFileSync(`${file}-wal`, `${other}-wal`);
    await ledger.close();
    expect(String(thrownBy(() => openLedger(other)))).toContain('write-ahead log is still there');
  });
});

function tamper(file: string, sql: string): void {
  const db = new Database(file);
  db.exec(sql);
  db.close();
}

function overwrite(file: string, position: number, bytes: Buffer): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, position);
  closeSync(descriptor);
}

async function isWhole(file: string): Promise<boolean> {
  try {
    const ledger = openLedger(file);
    const report = ledger.verifyAll();
    await ledger.close();
    return report.ok;
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^LEDGER_(CORRUPT|FOREIGN)$/) as string });
    return false;
  }
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
