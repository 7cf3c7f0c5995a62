import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import type { Verification } from '@caisson/engine';
import { listStoredBlobs } from '../../packages/engine/src/store/fixtures/stored-blobs.ts';
import { createProject, type CliRun, type Project } from './project.ts';

const WORK = 'echo said; echo changed > new.txt; mkdir -p outputs; echo report > outputs/report.txt';

async function sealed(): Promise<{ project: Project; runId: string }> {
  const project = createProject({ config: 'capabilities: { rules: ./rules }\n' });
  project.write('rules/RULES.md', 'be kind\n');
  const run = await project.run('--capability', 'rules', '--', 'sh', '-c', WORK);
  expect(run.status).toBe('done');
  return { project, runId: run.runId };
}

async function verify(project: Project, ...args: string[]): Promise<CliRun & { failed: string[] }> {
  const cli = await project.caisson('verify', '-o', 'json', ...args);
  const { checks = [] } = JSON.parse(cli.stdout) as Partial<Verification>;
  return { ...cli, failed: checks.filter((check) => check.verdict === 'failed').map((check) => check.id) };
}

function flip(file: string, at: number): () => void {
  return replaceByte(file, at, (byte) => byte ^ 1);
}

function replaceByte(file: string, at: number, change: (byte: number) => number): () => void {
  const good = readFileSync(file);
  const bad = Buffer.from(good);
  bad[at] = change(bad[at] ?? 0);
  rmSync(file);
  writeFileSync(file, bad);
  return () => {
    rmSync(file);
    writeFileSync(file, good);
  };
}

it('a flipped byte, or a missing file, of any blob fails the verification of the run by name', async () => {
  const { project, runId } = await sealed();
  expect(await verify(project, runId)).toMatchObject({ code: 0, failed: [] });
  const blobs = listStoredBlobs(join(project.root, '.caisson/store'));
  expect(blobs.length).toBeGreaterThan(8);
  const named = new Set<string>();
  for (const { file, middle, size } of blobs) {
    if (size === 0) continue;
    const undo = flip(file, middle);
    const seen = await verify(project, runId);
    expect(seen.code, file).toBe(seen.failed.includes('signature') ? 7 : 6);
    expect(seen.failed.length).toBeGreaterThan(0);
    for (const id of seen.failed) named.add(id);
    undo();
  }
  for (const file of new Set(blobs.map((blob) => blob.file))) {
    const good = readFileSync(file);
    rmSync(file);
    expect((await verify(project, runId)).code, file).toBe(10);
    writeFileSync(file, good);
  }
  expect([...named]).toEqual(
    expect.arrayContaining(['manifest', 'result', 'artefact:patch', 'artefact:outputs/report.txt', 'inputs']),
  );
  expect([...named]).toEqual(expect.arrayContaining(['artefact:reply', 'envelope']));
  expect(await verify(project, runId)).toMatchObject({ code: 0, failed: [] });
}, 120_000);

it('verify --all checks every run that ended; the worst of them decides', async () => {
  const { project, runId } = await sealed();
  const [kept, gone] = [await project.run('--', 'true'), await project.run('--', 'true')];
  await project.caisson('forget', gone.runId);
  const all = async (...args: string[]): Promise<CliRun> => project.caisson('verify', '--all', ...args);
  const good = await all('-o', 'json');
  expect(good.code).toBe(0);
  expect(JSON.parse(good.stdout)).toMatchObject({ outcome: 'ok', runs: 2, forgotten: 1, problems: [] });
  const finished = (await project.events(runId)).find(({ type }) => type === 'dispatch.finished');
  const { resultRef } = finished as unknown as { resultRef: string };
  const stored = listStoredBlobs(join(project.root, '.caisson/store'));
  const result = stored.find(({ digest }) => digest === resultRef);
  expect(result?.isPacked).toBe(true);
  flip(result?.file ?? '', result?.middle ?? 0);
  const bad = await all('-o', 'json');
  expect(bad.code).toBe(6);
  expect(JSON.parse(bad.stdout)).toMatchObject({ outcomes: { ok: 1, tampered: 1 }, problems: [{ runId }] });
  expect((await all()).stdout).toContain('1 of 2 runs are correct; 1 tampered');
  expect((await all('-o', 'ndjson')).stdout).toContain(kept.runId);
  expect((await all(runId)).code).toBe(2);
}, 120_000);

const TAMPERINGS: [string, string][] = [
  [
    'data',
    `UPDATE events SET data = replace(data, 'auto-edit', 'full-auto') WHERE type = 'dispatch.accepted'`,
  ],
  ['a type', `UPDATE events SET type = 'warning' WHERE type = 'capture.done'`],
  ['a time', `UPDATE events SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 2`],
  ['a hash', `UPDATE events SET hash = '${'0'.repeat(64)}' WHERE seq = 3`],
  ['a link', `UPDATE events SET prev_hash = '${'0'.repeat(64)}' WHERE seq = 3`],
  ['the first link', 'UPDATE events SET prev_offset = 1 WHERE seq = 1'],
  ["a run's derived row", `UPDATE runs SET row = replace(row, 'command', 'commend')`],
  ['a row in the middle that is gone', 'DELETE FROM events WHERE seq = 3'],
  [
    'two rows in another order',
    'UPDATE events SET seq = 900 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 900',
  ],
  ['a tail that is cut off', `DELETE FROM events WHERE type IN ('evidence.sealed', 'dispatch.finished')`],
];

it.each(TAMPERINGS)('a ledger with %s changed is not believed', async (_title, sql) => {
  const { project, runId } = await sealed();
  const database = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
  for (const trigger of ['events_never_change', 'events_never_go']) database.exec(`DROP TRIGGER ${trigger}`);
  database.exec(sql);
  database.close();
  const seen = await project.caisson('verify', runId, '-o', 'json');
  expect(seen.code).toBe(6);
  expect(seen.stdout).toMatch(/event-chain|event-count|seal|LEDGER_CORRUPT/);
});

it('a ledger that is no database any more ends every command with 6 and is named', async () => {
  const { project, runId } = await sealed();
  const file = join(project.root, '.caisson/ledger.db');
  const database = new DatabaseSync(file);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const at = readFileSync(file).indexOf('INTEGER PRIMARY KEY');
  flip(file, at + 'INTEGER PRI'.length);
  for (const name of ['verify', 'show', 'export']) {
    const seen = await project.caisson(name, runId);
    expect([name, seen.code, seen.stderr]).toEqual([name, 6, expect.stringContaining(`${file} is damaged`)]);
  }
});

it('an export fails for a byte flipped in any of its parts, cut off, or added', async () => {
  const { project, runId } = await sealed();
  const file = join(project.root, 'proof.tar');
  await project.caisson('export', runId, '--to', file);
  const good = readFileSync(file);
  const step = Math.ceil(good.length / 24);
  for (let at = 0; at < good.length; at += step) {
    const undo = flip(file, at);
    const seen = await verify(project, file);
    expect([6, 7], `byte ${at}`).toContain(seen.code);
    expect(seen.failed.length).toBeGreaterThan(0);
    undo();
  }
  writeFileSync(file, good.subarray(0, good.length - 512));
  expect((await verify(project, file)).code).toBe(10);
  writeFileSync(file, Buffer.concat([good, Buffer.from('x')]));
  expect((await verify(project, file)).code).toBe(6);
}, 120_000);

it('a forged manifest, a bad signature and a missing key are three different answers', async () => {
  const { project, runId } = await sealed();
  const file = join(project.root, 'proof.tar');
  await project.caisson('export', runId, '--to', file);
  const good = readFileSync(file);
  const forge = async (mark: string): Promise<CliRun & { failed: string[] }> => {
    const at = good.indexOf(mark);
    expect(at).toBeGreaterThan(0);
    // Another digit is another value in hex as well as in base64, and never a mistake of form.
    const undo = replaceByte(file, at + mark.length + 3, (byte) => (byte === 0x30 ? 0x31 : 0x30));
    const seen = await verify(project, file);
    undo();
    return seen;
  };
  expect(await forge('"baselineTree":"')).toMatchObject({ code: 6, failed: ['manifest'] });
  expect(await forge('"sig":"')).toMatchObject({ code: 7, failed: ['signature'] });
  const stranger = createProject();
  expect(await verify(stranger, file)).toMatchObject({ code: 8, failed: ['key'] });
});

it('a stranger with the public key verifies without state folder, project or network', async () => {
  const { project, runId } = await sealed();
  const stranger = createProject({ git: false });
  const folder = join(dirname(stranger.root), 'mail');
  mkdirSync(folder);
  await project.caisson('export', runId, '--to', join(folder, 'proof.tar'));
  writeFileSync(join(folder, 'key.pem'), (await project.caisson('keys', '--export')).stdout);
  cpSync(folder, join(stranger.root, 'mail'), { recursive: true });
  expect(await verify(stranger, 'mail/proof.tar')).toMatchObject({ code: 8 });
  expect(await verify(stranger, 'mail/proof.tar', '--key', 'mail/key.pem')).toMatchObject({
    code: 0,
    failed: [],
  });
  await stranger.caisson('keys', '--trust', 'mail/key.pem');
  expect(await verify(stranger, 'mail/proof.tar')).toMatchObject({ code: 0 });
  expect(readdirSync(stranger.root)).toEqual(['mail']);
});

it('what is no file, or cannot be read, is a mistake of the caller and not called forged', async () => {
  const project = createProject();
  mkdirSync(join(project.root, 'folder.tar'));
  for (const [args, says] of [
    [['verify', './folder.tar'], /folder\.tar is not a file/],
    [['verify', './nothing.tar'], /there is no file \.\/nothing\.tar/],
    [['verify', './README.md', '--key', 'nothing.pem'], /there is no file nothing\.pem/],
    [['verify', './README.md', '--key', 'README.md'], /README\.md is not a public key/],
    [['verify', './README.md'], /README\.md is not a Caisson export/],
    [['keys', '--export', '--distrust', 'x'], /one thing at a time/],
    [['keys', '--id', 'x'], /--id says which key to --export/],
  ] as const) {
    const { code, stderr } = await project.caisson(...args);
    expect([args, code, stderr]).toEqual([args, 2, expect.stringMatching(says)]);
  }
});
