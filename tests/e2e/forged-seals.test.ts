/** A process that can write only the state folder gets no signature for another history. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { forgeLedger, type ForgedEvent } from './forge-ledger.ts';
import { openProject, type Project } from './open-project.ts';

const SEALED = 'evidence.sealed';
const OTHER_LEDGER = `UPDATE kv SET value = '"ledger_${'0'.repeat(32)}"' WHERE space = 'ledger' AND key = 'id'`;
const NO_MARKS = `DELETE FROM kv WHERE space = 'endings'`;

const ends: (() => void)[] = [];
const runs: string[] = [];
let project: Project;
let stateDir = '';
let notes = '';
let backup = '';

const isOf =
  (runId: string | undefined, type: string) =>
  (event: ForgedEvent): boolean =>
    event.runId === runId && event.type === type;

/** Another ending than the one that happened. */
function change(events: ForgedEvent[], runId = runs[0]): void {
  for (const event of events.filter(isOf(runId, 'dispatch.finished'))) event.data['durationMs'] = 1;
}

const forge = (how: (events: ForgedEvent[], database: DatabaseSync) => ForgedEvent[]): Promise<void> =>
  forgeLedger(stateDir, how);
const verify = async (run = runs[0] ?? ''): Promise<number | null> =>
  (await project.caisson('verify', run)).code;
const exportIt = async (run = runs[0] ?? ''): Promise<number | null> =>
  (await project.caisson('export', run, '--to', join(dirname(project.root), 'proof.tar'))).code;

function replaceContents(folder: string, by: string): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  cpSync(by, folder, { recursive: true });
}

beforeAll(async () => {
  project = openProject({}, (end) => void ends.push(end));
  for (const text of ['one', 'two', 'three'])
    runs.push((await project.run('--', 'sh', '-c', `echo ${text} > new.txt`)).runId);
  stateDir = join(project.root, '.caisson');
  notes = join(project.env['HOME'] ?? '', '.local/state/caisson/ledgers');
  backup = join(dirname(project.root), 'backup');
  mkdirSync(backup);
  cpSync(stateDir, join(backup, 'state'), { recursive: true });
  cpSync(notes, join(backup, 'notes'), { recursive: true });
}, 60_000);

beforeEach(() => {
  replaceContents(stateDir, join(backup, 'state'));
  replaceContents(notes, join(backup, 'notes'));
});

afterAll(() => ends.forEach((end) => end()));

describe('a run that was changed after its ending', { timeout: 60_000 }, () => {
  it('gets no seal in a ledger that passes itself off as another one', async () => {
    await forge((events, database) => {
      database.exec(OTHER_LEDGER);
      change(events);
      return events.filter(({ type }) => type !== SEALED);
    });
    await project.caisson('runs');
    expect(await verify()).toBe(6);
    expect(await exportIt()).toBe(6);
    expect((await project.caisson('doctor', '--quick')).code).not.toBe(0);
    expect((await project.caisson('seal', runs[0] ?? '')).code).not.toBe(0);
  });

  it('gets none either when the marks of the endings were taken away', async () => {
    await forge((events, database) => {
      database.exec(OTHER_LEDGER);
      database.exec(NO_MARKS);
      change(events);
      return events.filter(({ type }) => type !== SEALED);
    });
    await project.caisson('runs');
    expect(await verify()).toBe(9);
    expect(await exportIt()).toBe(9);
    expect((await project.caisson('seal', '--all')).code).not.toBe(0);
  });

  it('is not exported where every seal was dropped', async () => {
    await forge((events) => {
      change(events);
      return events.filter(({ type }) => type !== SEALED);
    });
    await project.caisson('runs');
    expect([await verify(), await exportIt()]).toEqual([6, 6]);
  });

  it.each<[string, (events: ForgedEvent[], database: DatabaseSync) => void]>([
    [
      'the next seal names no run',
      (events) => {
        for (const { data } of events.filter(isOf(runs[1], SEALED)))
          (data['chain'] as Record<string, unknown>)['previousRun'] = null;
      },
    ],
    [
      'it was accepted after the next seal',
      (events) => {
        for (const event of events.filter(isOf(runs[0], 'dispatch.accepted')))
          event.at = '2127-01-01T00:00:00.000Z';
      },
    ],
    [
      'a dead host holds its slot',
      (_events, database) =>
        void database.prepare('INSERT INTO slots VALUES (?, ?, ?)').run(runs[0] ?? '', 'runs', 'host_dead'),
    ],
  ])('gets no second seal: %s', async (_name, also) => {
    await forge((events, database) => {
      change(events);
      also(events, database);
      return events.filter((event) => !isOf(runs[0], SEALED)(event));
    });
    await project.caisson('runs');
    expect([await verify(), await exportIt()]).toEqual([6, 6]);
  });
});

it('a run that never was gets no seal', { timeout: 60_000 }, async () => {
  const invented = `${(runs[0] ?? '').slice(0, -4)}zzzz`;
  await forge((events) => [
    ...events,
    ...events
      .filter(({ runId, type }) => runId === runs[0] && type !== SEALED)
      .map((event) => ({ ...event, runId: invented, id: `${event.id}-again` })),
  ]);
  const { stderr } = await project.caisson('runs');
  expect(stderr).toContain('nothing shows that its ending was recorded');
  expect(await verify(invented)).toBe(9);
});

it('an ending without a mark is sealed on request for that run', { timeout: 60_000 }, async () => {
  await forge((events, database) => {
    database.exec(NO_MARKS);
    return events.filter((event) => !isOf(runs[2], SEALED)(event));
  });
  rmSync(notes, { recursive: true }); // as an older version left it: no note of that seal
  await project.caisson('runs');
  expect(await verify(runs[2])).toBe(9);
  expect((await project.caisson('seal', runs[2] ?? '')).code).toBe(0);
  expect(await verify(runs[2])).toBe(0);
});

it(
  'a note whose bytes a power cut took is no note, and the next seal writes it',
  { timeout: 60_000 },
  async () => {
    const [name = ''] = readdirSync(notes);
    writeFileSync(join(notes, name), '\0\0');
    expect(await verify()).toBe(0);
    const { runId } = await project.run('--', 'true');
    expect(readFileSync(join(notes, name), 'utf8')).toContain(runId);
    expect((await project.events(runId)).filter(({ type }) => type === 'warning')).toEqual([]);
  },
);

describe('tampering is not passed off as something less', { timeout: 60_000 }, () => {
  it('as an incomplete run: events before the ending dropped, the genuine seal kept', async () => {
    await forge((events) => {
      change(events);
      const gone = events.filter(({ runId }) => runId === runs[0]).slice(2, 4);
      return events.filter((event) => !gone.includes(event));
    });
    expect([await verify(), await exportIt()]).toEqual([6, 6]);
  });

  it('as an unsealed run: a seal that says nothing', async () => {
    await forge((events) => {
      for (const event of events.filter(isOf(runs[0], SEALED))) event.data = { x: 1 };
      return events;
    });
    expect([await verify(), await exportIt()]).toEqual([6, 6]);
  });

  it('as an unsealed run: the seal dropped, and the row says that none is owed', async () => {
    await forge((events) => events.filter((event) => !isOf(runs[0], SEALED)(event)));
    const database = new DatabaseSync(join(stateDir, 'ledger.db'));
    database.exec(`UPDATE runs SET unsealed = NULL, row = json_remove(row, '$.unsealed', '$.check')`);
    database.close();
    expect([await verify(), await exportIt()]).toEqual([6, 6]);
  });

  it('as a forgotten run: nothing is hidden, and gc keeps what it needs', async () => {
    const changeRow = (row: string): void => {
      const database = new DatabaseSync(join(stateDir, 'ledger.db'));
      database.prepare(`UPDATE runs SET row = ${row} WHERE run = ?`).run(runs[0] ?? '');
      database.close();
    };
    changeRow(`json_set(json_remove(row, '$.check'), '$.forgottenAt', '2026-01-01')`);
    expect([await verify(), await exportIt()]).toEqual([6, 6]);
    expect((await project.caisson('gc', '--older-than', '1s')).code).toBe(0);
    changeRow(`json_remove(row, '$.check', '$.forgottenAt')`);
    expect(await verify()).toBe(0);
  });
});
