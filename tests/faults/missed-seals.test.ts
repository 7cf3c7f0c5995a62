/** The next process makes a missing seal, and a run without one is never called tampered. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from 'node:sqlite';
import type { RunRow } from '@caisson/engine';
import { expect, it, onTestFinished } from 'vitest';
import { listStoredBlobs } from '../../packages/engine/src/store/fixtures/stored-blobs.ts';
import { createProject, finish, until, type Project } from '../e2e/project.ts';

const dataFolder = (project: Project): string => join(project.env['HOME'] ?? '', '.local/share/caisson');

/** A file in the place of the folder of the keys: also root cannot read a key from it. */
function breakKeys(project: Project): () => void {
  const keys = join(dataFolder(project), 'keys');
  const aside = `${keys}.aside`;
  mkdirSync(dirname(keys), { recursive: true });
  if (readdirSync(dirname(keys)).includes('keys')) renameSync(keys, aside);
  writeFileSync(keys, 'not a folder');
  return () => {
    rmSync(keys);
    if (readdirSync(dirname(keys)).includes('keys.aside')) renameSync(aside, keys);
  };
}

async function listRuns(project: Project): Promise<RunRow[]> {
  return JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as RunRow[];
}

const isSealed = async (project: Project, runId: string): Promise<boolean> =>
  (await project.events(runId)).some((event) => event.type === 'evidence.sealed');

it('a key that could not be read: unsealed until then, and sealed by the next command', async () => {
  const project = createProject();
  const restore = breakKeys(project);
  const run = await project.run('--', 'sh', '-c', 'echo work > new.txt');
  expect([run.status, run.cli.stderr]).toEqual(['done', expect.stringContaining('is not sealed')]);
  const shown = await project.caisson('show', run.runId);
  expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining(`${run.runId} is not sealed`)]);
  const verified = await project.caisson('verify', run.runId, '-o', 'json');
  expect([verified.code, verified.stdout]).toEqual([9, expect.stringContaining('"outcome": "unsealed"')]);
  const exported = await project.caisson('export', run.runId, '-o', 'json');
  expect([exported.code, exported.stdout]).toEqual([9, expect.stringContaining('"code": "UNSEALED"')]);
  restore();
  const listed = await project.caisson('runs', '-o', 'json');
  expect([listed.stderr, (JSON.parse(listed.stdout) as RunRow[])[0]?.unsealed]).toEqual(['', undefined]);
  expect(await isSealed(project, run.runId)).toBe(true);
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
}, 60_000);

it('a living host seals its run once the key can be read, and no other process does', async () => {
  const project = createProject();
  const restore = breakKeys(project);
  const program = fileURLToPath(new URL('lives-on.mjs', import.meta.url));
  const host = spawn(process.execPath, [program, project.root], {
    env: project.env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void host.kill('SIGKILL'));
  const [printed] = (await once(host.stdout, 'data')) as [Buffer];
  const listed = await project.caisson('runs', '-o', 'json');
  const unsealed = [{ runId: printed.toString().trim(), unsealed: true }];
  expect([listed.stderr, JSON.parse(listed.stdout)]).toMatchObject(['', unsealed]);
  restore();
  await until('the seal', async () => (await listRuns(project))[0]?.unsealed === undefined);
  expect((await project.events('latest')).at(-1)?.type).toBe('evidence.sealed');
  host.stdin.end();
  expect(await once(host, 'exit')).toEqual([0, null]);
}, 60_000);

it.each([
  ['between the ending and the seal', () => true],
  ['with everything cleaned up, and before the seal', isCleanedUp],
])(
  'a host that is killed %s: sealed by the next command',
  async (_title, isThere) => {
    const project = createProject();
    const first = await project.run('--', 'true');
    // The test holds the lock of the signers, as a process that waits for its agent would.
    const lock = join(project.root, '.caisson/runtime/seal.lock');
    const startTime = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ')[19];
    const namespace = readlinkSync('/proc/self/ns/pid');
    writeFileSync(lock, JSON.stringify({ pid: process.pid, startTime, namespace, token: '0'.repeat(24) }));
    const host = project.start('run', '--', 'sh', '-c', 'echo work > new.txt');
    const ended = await until('the ending', async () => {
      const [row] = await listRuns(project);
      return row !== undefined && row.runId !== first.runId && row.ending !== undefined ? row : null;
    });
    await until('the moment', () => isThere(project, ended.runId));
    expect((await listRuns(project))[0]?.unsealed).toBe(true);
    host.kill('SIGKILL');
    await finish(host);
    rmSync(lock);
    expect((await listRuns(project))[0]).not.toHaveProperty('unsealed');
    expect((await project.caisson('verify', ended.runId)).code).toBe(0);
    expect((await project.caisson('diff', ended.runId)).stdout).toContain('+work');
    expect((await project.caisson('doctor', '-o', 'json')).stdout).toContain('2 seals, each follows');
  },
  60_000,
);

function isCleanedUp(project: Project, runId: string): boolean {
  const folders = ['worktrees', 'runtime/jobs', 'runtime/events', 'runtime/results', 'runtime/captures'];
  const left = folders.flatMap((folder) => readdirSync(join(project.root, '.caisson', folder)));
  return !left.some((name) => name.startsWith(runId));
}

it('runs that can never be sealed keep no younger one from its seal', async () => {
  const project = createProject();
  const restore = breakKeys(project);
  const runs = [];
  // No two have any content in common, which would be in one pack only.
  const script = (count: number): string => `echo ${count}; echo ${count} aside >&2`;
  for (let count = 0; count < 4; count += 1) runs.push(await project.run('--', 'sh', '-c', script(count)));
  for (const { runId } of runs.slice(0, 3)) await removeResult(project, runId);
  restore();
  const listed = await listRuns(project);
  expect(listed.map(({ runId, unsealed }) => [runId, unsealed])).toEqual(
    runs.map(({ runId }, index) => [runId, index === 3 ? undefined : true]).toReversed(),
  );
  const all = await project.caisson('seal', '--all');
  expect([all.code, all.stderr]).toEqual([9, expect.stringContaining('0 runs were sealed, 3 could not be')]);
}, 60_000);

async function removeResult(project: Project, runId: string): Promise<void> {
  const ending = (await project.events(runId)).find(({ type }) => type === 'dispatch.finished');
  const digest = String(ending?.['resultRef']);
  const found = listStoredBlobs(join(project.root, '.caisson/store')).find((blob) => blob.digest === digest);
  if (found === undefined) throw new Error(`${digest} is not in the store`);
  rmSync(found.file); // the pack of all that the run captured
}

it('a run whose seal was taken away gets no other, and is tampered', async () => {
  const project = createProject();
  const [first] = [await project.run('--', 'true'), await project.run('--', 'true')];
  takeSealAway(project, first.runId);
  expect((await listRuns(project)).at(-1)).toMatchObject({ runId: first.runId, unsealed: true });
  const verified = await project.caisson('verify', first.runId, '-o', 'json');
  expect([verified.code, verified.stdout]).toEqual([6, expect.stringContaining('had a seal')]);
  expect(await isSealed(project, first.runId)).toBe(false);
}, 60_000);

/** With care: the event goes, and heads and rows follow, as if the host had died before it. */
function takeSealAway(project: Project, runId: string): void {
  const database = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
  for (const trigger of ['events_never_change', 'events_never_go']) database.exec(`DROP TRIGGER ${trigger}`);
  const seal = database.prepare("SELECT * FROM events WHERE id = 'evidence.sealed:' || ?").get(runId);
  const [at, count, head, before] = ['offset', 'seq', 'prev_hash', 'prev_offset'].map((key) => seal?.[key]);
  database.exec(`DELETE FROM events WHERE offset = ${Number(at)};
    UPDATE events SET offset = -(offset - 1), prev_offset = prev_offset - (prev_offset > ${Number(at)}) WHERE offset > ${Number(at)};
    UPDATE events SET offset = -offset WHERE offset < 0;
    UPDATE streams SET head_offset = head_offset - 1 WHERE head_offset > ${Number(at)};
    UPDATE totals SET count = count - 1;`);
  database
    .prepare('UPDATE streams SET count = ?, head = ?, head_offset = ? WHERE run = ?')
    .run(Number(count) - 1, String(head), Number(before), runId);
  database
    .prepare('UPDATE seals SET count = ?, head = ? WHERE run = ?')
    .run(Number(count) - 1, String(head), runId);
  database.exec(
    `UPDATE runs SET unsealed = 1, accepted_offset = accepted_offset - (accepted_offset > ${Number(at)})`,
  );
  database
    .prepare(
      "UPDATE runs SET row = json_set(json_remove(row, '$.check'), '$.unsealed', json('true')) WHERE run = ?",
    )
    .run(runId);
  database.close();
}

it('a run without a mark of its ending is reported once, and by doctor --repair', async () => {
  const project = createProject();
  const restore = breakKeys(project);
  const run = await project.run('--', 'true');
  const database = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
  database.exec("DELETE FROM kv WHERE space = 'endings'");
  database.close();
  restore();
  const reported = `${run.runId} is not sealed`;
  expect((await project.caisson('runs')).stderr).toContain(reported);
  for (const command of ['runs', 'gc']) expect((await project.caisson(command)).stderr).toBe('');
  expect((await project.run('--', 'true')).cli.stderr).toBe('');
  expect((await project.caisson('doctor', '--repair')).stdout).toContain(reported);
  expect((await project.caisson('seal', run.runId)).code).toBe(0);
}, 120_000);

it('a state folder that was begun anew seals the run of a first host that was killed', async () => {
  const project = createProject();
  await project.run('--', 'true');
  rmSync(join(project.root, '.caisson'), { recursive: true });
  const restore = breakKeys(project);
  const run = await project.run('--', 'sh', '-c', 'echo work > new.txt');
  restore();
  expect((await project.caisson('runs')).stderr).toBe('');
  expect(await isSealed(project, run.runId)).toBe(true);
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
}, 120_000);
