/** Every seal names the one before it, and the newest is noted outside the state folder: what is removed is missed. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import type { Verification, WitnessLine } from '@caisson/engine';
import { createProject, type CliRun, type Project } from './project.ts';

const LOST = /has lost its newest runs/;

async function runOnce(project: Project, text = 'work'): Promise<string> {
  const run = await project.run('--', 'sh', '-c', `echo ${text} > new.txt`);
  expect(run.status).toBe('done');
  return run.runId;
}

async function verify(project: Project, ...args: string[]): Promise<CliRun & { failed: string[] }> {
  const cli = await project.caisson('verify', '-o', 'json', ...args);
  const { checks = [] } = JSON.parse(cli.stdout) as Partial<Verification>;
  return { ...cli, failed: checks.filter((check) => check.verdict === 'failed').map((check) => check.id) };
}

async function examine(project: Project): Promise<{ code: number | null; failed: Record<string, string> }> {
  const { code, stdout } = await project.caisson('doctor', '-o', 'json');
  const { probes } = JSON.parse(stdout) as { probes: { id: string; verdict: string; detail: string }[] };
  const failed = probes.filter(({ verdict }) => verdict === 'fail');
  return { code, failed: Object.fromEntries(failed.map(({ id, detail }) => [id, detail])) };
}

const state = (project: Project): string => join(project.root, '.caisson');

function saveLedger(project: Project): () => void {
  const copy = join(dirname(project.root), 'older');
  mkdirSync(copy);
  const names = readdirSync(state(project)).filter((name) => name.startsWith('ledger.db'));
  for (const name of names) cpSync(join(state(project), name), join(copy, name));
  return () => {
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(state(project), `ledger.db${suffix}`), { force: true });
    for (const name of names) cpSync(join(copy, name), join(state(project), name));
  };
}

it(
  'an older copy of the ledger in its place is noticed by verify and doctor, and by the next run',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const first = await runOnce(project);
    const restore = saveLedger(project);
    const removed = await runOnce(project);
    expect(await verify(project, removed)).toMatchObject({ code: 0 });
    expect((await examine(project)).failed).toEqual({});
    restore();
    expect(await verify(project, first)).toMatchObject({ code: 6, failed: ['ledger-head'] });
    const gone = await project.caisson('verify', removed);
    expect([gone.code, gone.stderr]).toEqual([6, expect.stringMatching(LOST)]);
    expect(await examine(project)).toEqual({
      code: 6,
      failed: { 'ledger-head': expect.stringMatching(LOST) as string },
    });
    const next = await project.run('--', 'true');
    expect(next.cli.stderr).toMatch(LOST);
    expect((await examine(project)).code).toBe(6);
    await project.caisson('doctor', '--accept-ledger');
    expect((await examine(project)).failed).toEqual({});
    expect(await verify(project, next.runId)).toMatchObject({ code: 0 });
  },
);

/** Takes every row of a run out and recomputes what else the ledger says of itself, as a careful forger would. */
function cutOut(project: Project, runId: string): void {
  const database = new DatabaseSync(join(state(project), 'ledger.db'));
  for (const trigger of ['events_never_change', 'events_never_go']) database.exec(`DROP TRIGGER ${trigger}`);
  const first = database.prepare('SELECT min(offset) AS at FROM events WHERE run = ?').get(runId);
  const last = database.prepare('SELECT max(offset) AS at FROM events WHERE run = ?').get(runId);
  const from = Number(first?.['at']);
  const count = Number(last?.['at']) - from + 1;
  for (const table of ['events', 'streams', 'seals', 'runs', 'attempts', 'spend'])
    database.prepare(`DELETE FROM ${table} WHERE run = ?`).run(runId);
  const move = `SET offset = -(offset - ${count}), prev_offset = max(0, prev_offset - ${count}) WHERE offset > ${from}`;
  database.exec(`UPDATE events ${move}; UPDATE events SET offset = -offset WHERE offset < 0;
    UPDATE streams SET head_offset = head_offset - ${count} WHERE head_offset > ${from};
    UPDATE totals SET count = count - ${count}, head = (SELECT hash FROM events ORDER BY offset DESC LIMIT 1);`);
  database.close();
}

it(
  'rows of the newest run, or of one in the middle, that were taken out with care are missed',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const runs = [
      await runOnce(project, 'one'),
      await runOnce(project, 'two'),
      await runOnce(project, 'three'),
    ];
    const backup = join(dirname(project.root), 'backup');
    cpSync(state(project), backup, { recursive: true });
    cutOut(project, runs[2] ?? '');
    expect(await examine(project)).toEqual({
      code: 6,
      failed: { 'ledger-head': expect.stringMatching(LOST) as string },
    });
    expect(await verify(project, runs[0] ?? '')).toMatchObject({ code: 6, failed: ['ledger-head'] });
    // The folder itself stays: another one in its place would not be opened.
    for (const name of readdirSync(state(project))) rmSync(join(state(project), name), { recursive: true });
    cpSync(backup, state(project), { recursive: true });
    cutOut(project, runs[1] ?? '');
    await project.caisson('doctor', '--repair');
    const middle = await examine(project);
    expect(middle.failed).toEqual({
      seals: expect.stringContaining('follows a seal that is not in this ledger') as string,
    });
    expect(middle.code).toBe(6);
    expect(middle.failed['seals']).toContain('follows a seal that is not in this ledger');
    expect(await verify(project, runs[2] ?? '')).toMatchObject({ code: 6, failed: ['seal-chain'] });
  },
);

it('forget and gc of every run raise no alarm', { timeout: 60_000 }, async () => {
  const project = createProject();
  const [first, newest] = [await runOnce(project), await runOnce(project)];
  for (const run of [newest, first]) expect((await project.caisson('forget', run)).code).toBe(0);
  expect((await project.caisson('gc')).code).toBe(0);
  expect((await examine(project)).failed).toEqual({});
  expect(await verify(project, await runOnce(project))).toMatchObject({ code: 0 });
});

it('a copied project and its original go on in turns without an alarm', { timeout: 60_000 }, async () => {
  const project = createProject();
  await runOnce(project);
  const copy = createProject({ git: false, env: project.env });
  rmSync(copy.root, { recursive: true });
  cpSync(project.root, copy.root, { recursive: true });
  expect((await copy.caisson('trust', '--yes')).code).toBe(0);
  for (const place of [copy, project, copy]) {
    const run = await runOnce(place);
    expect(await verify(place, run)).toMatchObject({ code: 0 });
    expect((await examine(place)).failed).toEqual({});
  }
});

it('a state folder that is made again is named once, and raises no alarm', { timeout: 60_000 }, async () => {
  const project = createProject();
  await runOnce(project);
  rmSync(state(project), { recursive: true });
  expect(await examine(project)).toMatchObject({ failed: {} });
  const anew = await project.run('--', 'true');
  expect(anew.cli.stderr).toContain('another ledger was in the place of');
  expect(await verify(project, anew.runId)).toMatchObject({ code: 0 });
  expect((await project.run('--', 'true')).cli.stderr).not.toContain('another ledger');
});

it('twelve runs of four processes at once become one chain', { timeout: 120_000 }, async () => {
  const project = createProject();
  const work = async (): Promise<void> => {
    for (let count = 0; count < 3; count += 1) await runOnce(project);
  };
  await Promise.all([work(), work(), work(), work()]);
  const { stdout } = await project.caisson('doctor', '-o', 'json');
  expect(stdout).toContain('12 seals, each follows the one before it');
  expect(await verify(project, 'latest')).toMatchObject({ code: 0 });
});

const readWitness = (file: string): WitnessLine[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as WitnessLine);

it(
  'a witness file has a line of every seal, and what it saw cannot be rewritten unseen',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const file = join(dirname(project.root), 'witness/seals.ndjson');
    project.write('caisson.yaml', `evidence: { witness: ${file} }\n`);
    const first = await runOnce(project);
    const restore = saveLedger(project);
    const second = await runOnce(project, 'second');
    const lines = readWitness(file);
    expect(lines.map(({ runId, number }) => [runId, number])).toEqual([
      [first, 1],
      [second, 2],
    ]);
    expect(lines[1]?.previous).toBe(lines[0]?.seal);
    expect(await verify(project, second)).toMatchObject({ code: 0 });
    const proof = join(dirname(project.root), 'proof.tar');
    await project.caisson('export', second, '--to', proof);
    expect(await verify(project, proof, '--witness', file)).toMatchObject({ code: 0 });
    // The key's holder puts an older copy back, forgets the note, and makes another second run.
    restore();
    rmSync(join(project.env['HOME'] ?? '', '.local/state/caisson'), { recursive: true });
    expect((await project.caisson('trust', '--yes')).code).toBe(0);
    const forged = await runOnce(project, 'forged');
    expect(await verify(project, forged)).toMatchObject({ code: 6, failed: ['witness'] });
    const examined = await examine(project);
    expect(examined.code).toBe(6);
    expect(examined.failed['witness']).toContain('history was rewritten');
    await project.caisson('export', forged, '--to', proof);
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    expect(await verify(project, proof, '--witness', file)).toMatchObject({ code: 6, failed: ['witness'] });
  },
);

async function serveWitness(taken: string[], state: { isUp: boolean }): Promise<string> {
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
    request.on('end', () => {
      if (state.isUp) taken.push(...body.split('\n').filter(Boolean));
      response.writeHead(state.isUp ? 204 : 503).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/seals`;
}

it(
  'a witness address that does not answer holds no run up, and gets every line once it does',
  { timeout: 60_000 },
  async () => {
    const taken: string[] = [];
    const witness = { isUp: false };
    const url = await serveWitness(taken, witness);
    const project = createProject({ config: `evidence: { witness: '${url}' }\n` });
    const first = await project.run('--', 'true');
    expect(first.status).toBe('done');
    expect(first.cli.stderr).toContain('answered 503');
    expect(await verify(project, first.runId)).toMatchObject({ code: 0 });
    expect((await project.caisson('doctor')).stdout).toContain('lacks 1 seals');
    witness.isUp = true;
    const second = await runOnce(project);
    const lines = taken.map((line) => JSON.parse(line) as WitnessLine);
    expect(lines.map(({ runId }) => runId)).toEqual([first.runId, second]);
    expect((await project.caisson('doctor')).stdout).toContain('has every seal');
    expect(existsSync(join(state(project), 'ledger.db'))).toBe(true);
  },
);
