/** Damage of every kind: doctor and gc name it, and whatever is not damaged goes on as before. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ProbeReport, Repair } from '@caisson/engine';
import type { WireEvent } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { listStoredBlobs, type StoredBlob } from '../../packages/engine/src/store/fixtures/stored-blobs.ts';
import { createProject, finish, until, type Project } from '../e2e/project.ts';

/** So much that its patch is a file of its own. */
const LARGE = 'yes changed | head -c 100000 > new.txt';
/** What else is in the pack of a result. */
const BESIDE = ['reply', 'logs/stdout'];

interface Examined {
  readonly code: number | null;
  readonly repaired: readonly Repair[];
  /** What is not well, by the id of its probe. */
  readonly found: Readonly<Record<string, ProbeReport>>;
}

async function examine(project: Project, ...args: string[]): Promise<Examined> {
  const { code, stdout } = await project.caisson('doctor', '-o', 'json', ...args);
  const { probes, repaired } = JSON.parse(stdout) as { probes: ProbeReport[]; repaired: Repair[] };
  const bad = probes.filter(({ id, verdict }) => verdict !== 'ok' && id !== 'agents');
  return { code, repaired, found: Object.fromEntries(bad.map((probe) => [probe.id, probe])) };
}

const inState = (project: Project, ...path: string[]): string => join(project.root, '.caisson', ...path);
const storedBlobs = (project: Project): StoredBlob[] => listStoredBlobs(inState(project, 'store'));
function findStored(project: Project, digest: string): StoredBlob {
  const found = storedBlobs(project).find((blob) => blob.digest === digest);
  if (found === undefined) throw new Error(`${digest} is not in the store`);
  return found;
}
const ref = (events: readonly WireEvent[], name: string): string =>
  String(events.find((event) => typeof event[name] === 'string')?.[name]);

function flip({ file, middle }: StoredBlob): void {
  const bytes = readFileSync(file);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

/** Of a blob in a pack, all but the flipped one harm the whole pack. */
const DAMAGES: [string, string, number, (blob: StoredBlob) => void][] = [
  ['flipped', 'damaged', 6, flip],
  ['truncated', 'damaged', 6, ({ file }) => truncateSync(file, statSync(file).size - 1)],
  ['missing', 'missing', 10, ({ file }) => rmSync(file)],
  ['unreadable', 'unreadable', 10, ({ file }) => (rmSync(file), mkdirSync(file))],
];

it('blobs that are flipped, truncated, missing or unreadable are named, and block nothing else', async () => {
  const project = createProject();
  const work = `echo said; ${LARGE}; mkdir -p outputs; echo report > outputs/report.txt`;
  const bad = await project.run('--', 'sh', '-c', work);
  // It has nothing in common with the other one, in whose pack that would be, but its empty stderr.
  const sound = await project.run('--', 'sh', '-c', 'echo other > other.txt; echo own');
  const events = await project.events(bad.runId);
  const needed = {
    result: ref(events, 'resultRef'),
    patch: ref(events, 'patchRef'),
    'outputs/report.txt': bad.result?.outputs[0]?.ref ?? '',
  };
  const blobs = Object.values(needed).map((digest) => findStored(project, digest));
  expect(blobs.map(({ isPacked }) => isPacked)).toEqual([true, false, true]);
  const files = [...new Set(blobs.map(({ file }) => file))];
  expect(files, 'the patch, and the rest together').toHaveLength(2);
  const together = storedBlobs(project).filter(({ file }) => files.includes(file));
  expect(await examine(project)).toEqual({ code: 0, repaired: [], found: {} });
  for (const [title, kind, code, damage] of DAMAGES) {
    const good = files.map((file) => readFileSync(file));
    const isOfOne = title === 'flipped';
    const lost = new Set((isOfOne ? blobs : together).map(({ digest }) => digest));
    for (const blob of isOfOne ? blobs : blobs.slice(0, 2)) damage(blob);
    const { found, ...doctor } = await examine(project);
    expect([title, doctor.code, found['store']?.outcome]).toEqual([
      title,
      code,
      code === 6 ? 'tampered' : 'incomplete',
    ]);
    const findings = (found['store']?.findings ?? []).join('\n');
    for (const what of [...Object.keys(needed), ...(isOfOne ? [] : BESIDE)])
      expect(findings).toContain(`${what} of ${bad.runId} is ${kind}`);
    expect(findings.split('\n')).toHaveLength(lost.size);
    const swept = await project.caisson('gc', '-o', 'json');
    const { problems } = JSON.parse(swept.stdout) as { problems: { digest: string; kind: string }[] };
    // What a pack had whose index cannot be read is unknown: it is named, and what is found nowhere else is missing.
    const named = (digest: string): string =>
      isOfOne || digest === needed.patch ? `${kind} ${digest}` : `missing ${digest}`;
    const packs = isOfOne || kind === 'missing' ? [] : [`${kind} ${basename(files[0] ?? '', '.pack')}`];
    expect(new Set(problems.map((problem) => `${problem.kind} ${problem.digest}`))).toEqual(
      new Set([...packs, ...Array.from(lost, named)]),
    );
    expect([swept.code, swept.stderr]).toEqual([
      0,
      expect.stringContaining(`${lost.size + packs.length} blobs cannot be used`),
    ]);
    await expectOthersToGoOn(project, bad.runId, { sound: sound.runId, code });
    files.forEach((file, index) => {
      rmSync(file, { recursive: true, force: true });
      writeFileSync(file, good[index] ?? '');
    });
  }
  const manifest = findStored(project, ref(events, 'manifestRef'));
  expect([manifest.isPacked, files.includes(manifest.file)], 'with its envelope').toEqual([true, false]);
  flip(manifest);
  expect((await examine(project)).found['store']?.findings).toEqual([
    expect.stringContaining(`manifest of ${bad.runId} is damaged`),
  ]);
  flip(manifest);
  expect(await examine(project)).toEqual({ code: 0, repaired: [], found: {} });
  expect((await project.run('--', 'true')).status).toBe('done');
}, 120_000);

/** The content of the one cannot be read, that of the other can. */
async function expectOthersToGoOn(
  project: Project,
  bad: string,
  { sound, code }: { sound: string; code: number },
): Promise<void> {
  const shown = await project.caisson('show', bad);
  expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining('contents are left out')]);
  const left = await project.caisson('export', bad, '-o', 'json');
  const name = code === 10 ? 'INCOMPLETE' : 'TAMPERED';
  expect([left.code, left.stdout]).toEqual([code, expect.stringContaining(`"code": "${name}"`)]);
  expect((await project.caisson('verify', bad)).code).toBe(code);
  for (const command of ['export', 'verify', 'diff'])
    expect([command, (await project.caisson(command, sound)).code]).toEqual([command, 0]);
}

it('refs and worktrees that no run owns, and worktrees without their repository, are named', async () => {
  const project = createProject();
  const run = await runAndLeave(project, 'new.txt');
  const [checkpoint = ''] = project.git('for-each-ref', '--format=%(objectname)', 'refs/caisson').split('\n');
  project.git('update-ref', 'refs/caisson/run_00000000000000000000/1', checkpoint);
  writeFileSync(join(project.root, '.git/refs/caisson', run.runId, '9'), '');
  mkdirSync(inState(project, 'worktrees/run_00000000000000000000.1'));
  const { found, code } = await examine(project);
  expect([code, found['checkpoints']?.findings, found['worktrees']?.findings]).toEqual([
    1,
    [
      expect.stringContaining(`refs/caisson/${run.runId}/9`),
      expect.stringContaining('refs/caisson/run_00000000000000000000/1'),
    ],
    [expect.stringMatching(/worktrees\/run_00000000000000000000\.1 is of no run/)],
  ]);
  renameSync(join(project.root, '.git'), join(project.root, '../git-aside'));
  const gone = await examine(project);
  expect(gone.found['worktrees']?.findings?.join()).toContain('.git is gone');
  renameSync(join(project.root, '../git-aside'), join(project.root, '.git'));
  const { repaired, found: left } = await examine(project, '--repair');
  expect(repaired.map(({ detail }) => detail).join()).toContain(`refs/caisson/${run.runId}/9 was broken`);
  expect(left['checkpoints']).toMatchObject({
    verdict: 'warn',
    findings: [expect.stringContaining('of no run')],
  });
}, 60_000);

it('a ledger that is missing beside its store, or cut within a page, is incomplete and not made again', async () => {
  const project = createProject();
  await project.run('--', 'true');
  const file = inState(project, 'ledger.db');
  const bytes = readFileSync(file);
  truncateSync(file, bytes.length - 100);
  const cut = await examine(project);
  expect([cut.code, cut.found['ledger']]).toEqual([
    10,
    expect.objectContaining({
      outcome: 'incomplete',
      detail: expect.stringContaining('ends after') as string,
    }),
  ]);
  const listed = await project.caisson('runs');
  expect([listed.code, listed.stderr]).toEqual([10, expect.stringContaining('is damaged')]);
  rmSync(file);
  const gone = await examine(project);
  expect([gone.code, gone.found['ledger']?.outcome]).toEqual([10, 'incomplete']);
  writeFileSync(file, bytes);
  expect((await examine(project)).code).toBe(0);
}, 60_000);

it('beside a ledger that has lost runs gc removes no blob, and repair saves their worktrees', async () => {
  const project = createProject();
  await project.run('--', 'true');
  const older = readFileSync(inState(project, 'ledger.db'));
  const lost = await runAndLeave(project, 'lost.txt');
  writeFileSync(inState(project, 'ledger.db'), older);
  const past = Date.now() / 1000 - 86_400;
  const blobs = readdirSync(inState(project, 'store/blobs'), { recursive: true, withFileTypes: true });
  for (const blob of blobs) utimesSync(join(blob.parentPath, blob.name), past, past);
  const swept = await project.caisson('gc', '--older-than', '1h', '-o', 'json');
  expect([swept.code, swept.stderr]).toEqual([
    0,
    expect.stringMatching(/no blob was removed: .*lost its newest/),
  ]);
  expect((JSON.parse(swept.stdout) as { blobs: number }).blobs).toBe(0);
  const repaired = await examine(project, '--repair');
  expect([repaired.code, repaired.repaired]).toEqual([
    6,
    [
      {
        id: 'worktrees',
        verdict: 'ok',
        detail: expect.stringContaining(`refs/caisson/${lost.runId}/1`) as string,
      },
    ],
  ]);
  expect(readdirSync(inState(project, 'worktrees'))).toEqual([]);
}, 60_000);

it('doctor --repair derives damaged rows again and says so', async () => {
  const project = createProject();
  const run = await project.run('--', 'true');
  const database = new DatabaseSync(inState(project, 'ledger.db'));
  database.exec(`UPDATE runs SET status = 'queued', row = replace(row, '"done"', '"queued"')`);
  database.close();
  expect((await examine(project)).found['ledger']?.repair).toContain('--repair');
  const repaired = await examine(project, '--repair');
  expect(repaired).toEqual({
    code: 0,
    found: {},
    repaired: [{ id: 'ledger', verdict: 'ok', detail: expect.stringContaining('derived again') as string }],
  });
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
}, 60_000);

it('doctor names the run of a dead host, and ends with 1 when something was not repaired', async () => {
  const project = createProject();
  const host = project.start('run', '--', 'sleep', '600');
  await until('the agent', async () =>
    (await project.caisson('runs', '-o', 'json')).stdout.includes('"running"'),
  );
  host.kill('SIGKILL');
  await finish(host);
  const found = await project.caisson('doctor');
  expect([found.code, found.stdout]).toEqual([
    0,
    expect.stringContaining('has no ending, and its host is dead'),
  ]);
  mkdirSync(join(project.root, '.caisson/worktrees/run_00000000000000000000.1'));
  const repaired = await project.caisson('doctor', '--repair');
  expect(repaired.stdout).toContain('whose host is dead, was settled');
  expect(repaired.stdout).toContain('NOT REPAIRED  worktrees');
  expect([repaired.code, repaired.stdout]).toEqual([1, expect.stringContaining('0 runs are under way')]);
}, 60_000);

it('a run names the pack of another one in which its content was, and doctor --repair makes the index again', async () => {
  const project = createProject();
  const [one, two] = [
    await project.run('--', 'sh', '-c', 'echo same; echo one >&2'),
    await project.run('--', 'sh', '-c', 'echo same; echo two >&2'),
  ];
  const { file } = findStored(project, ref(await project.events(one.runId), 'resultRef'));
  const shared = two.result?.logs.stdout.ref ?? '';
  expect(findStored(project, shared).file).toBe(file);
  truncateSync(file, statSync(file).size - 60);
  const verified = await project.caisson('verify', two.runId);
  expect([verified.code, verified.stdout]).toEqual([
    6,
    expect.stringContaining(`${shared} is found nowhere else, and may be in ${file}`),
  ]);
  expect(verified.stdout).toContain('caisson doctor --repair takes what it can from a damaged pack');
  const { code, found } = await examine(project);
  expect([code, found['store']?.repair]).toEqual([
    6,
    'caisson doctor --repair makes the index of a damaged pack again.',
  ]);
  expect(await examine(project, '--repair')).toEqual({
    code: 0,
    repaired: [{ id: 'store', verdict: 'ok', detail: expect.stringContaining(`index of ${file}`) as string }],
    found: {},
  });
  for (const { runId } of [one, two]) expect((await project.caisson('verify', runId)).code).toBe(0);
}, 60_000);

const PLACES: [string, string][] = [
  ['a pack', 'echo changed > new.txt'],
  ['a file of its own', LARGE],
];

it.each(
  PLACES.flatMap(([place, change]) => DAMAGES.map((damage) => [damage[0], place, change, damage] as const)),
)(
  'a patch that is %s in %s: show, diff and apply name the checkpoint that has the work',
  async (title, place, change, [, kind, code, damage]) => {
    const project = createProject();
    const work = `${change}; echo beside > beside.txt`;
    const run = await project.run('--scope', 'new.txt', '--', 'sh', '-c', work);
    const patch = findStored(project, ref(await project.events(run.runId), 'patchRef'));
    expect(patch.isPacked).toBe(place === 'a pack');
    damage(patch);
    const checkpoint = `refs/caisson/${run.runId}/1`;
    const get = `git diff --binary ${project.git('rev-parse', 'HEAD^{tree}').trim()} ${checkpoint} | git apply`;
    const shown = await project.caisson('show', run.runId);
    expect(shown.stdout).toContain(`the work is in: checkpoint ${checkpoint}`);
    expect(shown.stdout).toContain(get);
    // A broken pack takes the result with it, in which that is.
    const hasResult = place !== 'a pack' || title === 'flipped';
    if (hasResult) expect(shown.stdout).toContain('outside the scope: beside.txt');
    else expect(shown.stderr).toContain('contents are left out');
    expect(shown.stdout).not.toContain(`caisson apply ${run.runId}`);
    for (const command of ['diff', 'apply']) {
      const read = await project.caisson(command, run.runId);
      expect([command, read.code, read.stderr]).toEqual([command, code, expect.stringContaining(get)]);
      expect(read.stderr).not.toContain('put the content again');
    }
    const { found } = await examine(project, '--repair');
    expect(JSON.stringify(found)).not.toContain('--repair');
    if (title === 'truncated' && place === 'a pack') return expect(found).toEqual({}); // only its index was
    expect(found['store']?.findings?.join()).toContain(`patch of ${run.runId} is ${kind}`);
  },
  60_000,
);

it('an attempt folder in a state folder that was moved goes to the trash, and doctor --repair says where', async () => {
  const before = createProject();
  const run = await runAndLeave(before, 'new.txt');
  const name = `${run.runId}.1`;
  const root = `${before.root}-moved`;
  renameSync(before.root, root);
  const project = createProject({ at: root, env: before.env });
  const { found } = await examine(project);
  expect(found['worktrees']?.findings).toEqual([
    `${inState(project, 'worktrees', name)} was made in ${inState(before, 'worktrees', name)}, before the state folder was moved`,
  ]);
  const { repaired, found: left } = await examine(project, '--repair');
  const [said] = repaired.filter(({ id }) => id === 'worktrees');
  expect(said).toMatchObject({
    verdict: 'ok',
    detail: expect.stringContaining('was moved to the trash') as string,
  });
  const trashed = inState(project, 'trash', name);
  expect(said?.detail).toContain(`take what you need from ${trashed}`);
  expect(readFileSync(join(trashed, 'files/new.txt'), 'utf8')).toBe('work\n');
  expect(left).toEqual({});
}, 120_000);

it('a row that says a run was forgotten, which nobody forgot, is found and derived again', async () => {
  const project = createProject();
  const run = await project.run('--', 'true');
  const database = new DatabaseSync(inState(project, 'ledger.db'));
  database.exec(`UPDATE runs SET row = json_set(json_remove(row, '$.check'), '$.forgottenAt', '2026-01-01')`);
  database.close();
  const diff = await project.caisson('diff', run.runId);
  expect([diff.code, diff.stderr]).toEqual([
    6,
    expect.stringContaining(`${run.runId} is marked as forgotten, but no event records that`),
  ]);
  const { found } = await examine(project);
  expect(found['ledger']?.detail).toContain('the runs table is not what the events replay to');
  const { repaired, found: left, code: after } = await examine(project, '--repair');
  expect([repaired.map(({ id }) => id), left, after]).toEqual([['ledger'], {}, 0]);
  expect((await project.caisson('diff', run.runId)).code).toBe(0);
}, 120_000);

/** A run whose workspace is still there, as if its host had died before it could remove it. */
async function runAndLeave(project: Project, file: string): Promise<{ runId: string }> {
  const worktrees = inState(project, 'worktrees');
  const aside = join(project.root, '../aside');
  const program = `echo work > ${file}; until [ -e go ]; do sleep 0.05; done; rm go`;
  const child = project.start('run', '-o', 'json', '--', 'sh', '-c', program);
  const ended = finish(child);
  const listed = (): string[] => (existsSync(worktrees) ? readdirSync(worktrees) : []);
  const name = await until('the work', () =>
    listed().find((each) => existsSync(join(worktrees, each, 'files', file))),
  );
  execFileSync('cp', ['-a', join(worktrees, name), aside]);
  writeFileSync(join(worktrees, name, 'files/go'), '');
  const { runId } = JSON.parse((await ended).stdout) as { runId: string };
  renameSync(aside, join(worktrees, name));
  return { runId };
}
