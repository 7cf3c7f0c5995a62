/** Residents at the command line, as far as no code of a user runs: what is read, refused, scheduled and written. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DaemonStatus, ScheduleView, ThreadRow, ThreadView } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  stepStarted,
  THREAD,
  threadAccepted,
  threadEnded,
  threadMessage,
  threadStarted,
} from '../../packages/engine/src/ledger/fixtures/sample-threads.ts';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, ROOT, until, type Project } from './project.ts';

async function serve(project: Project): Promise<DaemonStatus> {
  const { stdout, stderr } = await project.caisson('up', '-d', '-o', 'json');
  if (stdout === '') throw new Error(stderr);
  const status = JSON.parse(stdout) as DaemonStatus;
  onTestFinished(() => {
    try {
      process.kill(status.pid, 'SIGKILL');
    } catch {
      // it has ended
    }
  });
  return status;
}

function open({ root }: Project): Ledger {
  const ledger = openLedger(join(root, '.caisson/ledger.db'));
  onTestFinished(() => ledger.close());
  return ledger;
}

async function readJson<T>(project: Project, ...words: string[]): Promise<T> {
  const { stdout, stderr } = await project.caisson(...words, '-o', 'json');
  if (stdout === '') throw new Error(stderr);

  return JSON.parse(stdout) as T;
}

const firedOf = (ledger: Ledger) =>
  ledger.read({ runId: null, types: ['schedule.fired'] }).map(({ data }) => data);

describe('without a daemon', () => {
  it.each([
    ['senses', 'list'],
    ['senses', 'show', 'x'],
    ['senses', 'trigger', 'x'],
    ['workflows', 'list'],
    ['workflows', 'trigger', 'x', '--payload', '{"a":1}'],
    ['residents', 'list'],
    ['residents', 'reset', 'x'],
    ['residents', 'drain', 'x'],
    ['residents', 'restart', 'x'],
  ])('%s %s says that it needs one', async (...words) => {
    const project = createProject();
    const { code, stderr } = await project.caisson(...words);
    expect([code, stderr]).toEqual([1, expect.stringContaining('Start one: caisson up -d.')]);
    const { error } = await readJson<{ error: { code: string } }>(project, ...words);
    expect(error.code).toBe('NO_DAEMON');
    expect(existsSync(join(project.root, '.caisson'))).toBe(false);
  });

  it('threads are read, by a part of their id', async () => {
    const project = createProject();
    await project.run('--', 'true'); // Caisson makes the ledger
    const ledger = open(project);
    const dispatch = { kind: 'dispatch' as const, runIds: ['run_1'] };
    await ledger.append([
      threadAccepted({ payload: { failed: 2 } }),
      threadStarted(),
      stepStarted(0, 0, dispatch),
      threadMessage(0),
    ]);
    const [row] = await readJson<ThreadRow[]>(project, 'threads', 'list', '--status', 'running');
    expect(row).toMatchObject({ threadId: THREAD, workflow: 'fix', status: 'running', rounds: 1 });
    for (const name of ['latest', '00000001', THREAD])
      expect(await readJson<ThreadView>(project, 'threads', 'show', name)).toMatchObject({
        threadId: THREAD,
        payload: { failed: 2 },
        messages: [{ round: 0, role: 'fixer', content: 'x' }],
        runs: ['run_1'],
      });
    expect((await project.caisson('threads', 'cancel', THREAD)).stderr).toContain('caisson up -d');
    await ledger.append([threadEnded({ status: 'failed', detail: 'it threw' })]);
    const { stdout } = await project.caisson('threads', 'list');
    expect(stdout).toMatch(/THREAD +WORKFLOW +STATUS[^]*thread_0+1 +fix +failed +you +\d of 50 .*it threw/);
    expect((await project.caisson('show', THREAD)).stderr).toContain(`caisson threads show ${THREAD}`);
    const none = await project.caisson('threads', 'show', 'thread_x');
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('there is no thread "thread_x"')]);
  });

  it('schedules are listed with their next time, and that none of them starts', async () => {
    const project = createProject({
      config: 'schedules:\n  nightly: { cron: "0 3 * * *", timezone: UTC, task: Update the docs }\n',
    });
    const [schedule] = await readJson<ScheduleView[]>(project, 'schedules');
    expect(schedule).toEqual({
      name: 'nightly',
      cron: '0 3 * * *',
      timezone: 'UTC',
      catchUp: 'skip',
      what: 'Update the docs',
      nextAt: expect.stringMatching(/T03:00:00\.000Z$/) as string,
    });
    expect((await project.caisson('schedules')).stderr).toContain('none of them starts');
  });
});

it('wrong words are usage errors', async () => {
  const project = createProject();
  for (const words of [
    ['workflows', 'trigger', 'x', '--payload', '{'],
    ['workflows', 'trigger', 'x', '--payload', '@nowhere'],
    ['threads', 'list', '--status', 'gone'],
    ['threads', 'list', '--limit', '0'],
    ['logs', '--all'],
    ['logs', 'latest', '--all', '-f'],
    ['init', '--with', 'magic'],
    ['senses'],
    ['senses', 'lists', '--help'],
    ['up', '-d', '--no-daemon'],
  ])
    expect([words, (await project.caisson(...words)).code]).toEqual([words, 2]);
});

it('a word that begins several commands has help, and schedules list is schedules', async () => {
  const project = createProject();
  for (const words of [
    ['threads', '--help'],
    ['threads', '-h'],
    ['help', 'threads'],
  ]) {
    const { code, stdout } = await project.caisson(...words);
    expect([words, code, stdout]).toEqual([words, 0, expect.stringContaining('  threads resume ')]);
  }
  const { commands } = await readJson<{ commands: unknown[] }>(project, 'threads', '--help');
  expect(commands.length).toBe(4);
  expect(await readJson(project, 'schedules', 'list')).toEqual([]);
});

it('nothing is scheduled before the user agrees', async () => {
  const project = createProject({
    config: 'schedules:\n  often: { cron: "* * * * * *", command: ["true"] }\n',
    trusts: false,
  });
  const { code, stderr } = await project.caisson('up', '-d');
  expect([code, stderr]).toEqual([4, expect.stringContaining('schedules.often')]);
  expect(await readJson(project, 'schedules')).toEqual([]);
});

describe('a schedule', { timeout: 90_000 }, () => {
  const often = (changes = ''): string =>
    `schedules:\n  often: { cron: "*/2 * * * * *", command: [sh, -c, "echo hi"]${changes} }\n`;

  it('starts runs at its times, once each, across the death of its daemon', async () => {
    const project = createProject({ config: often() });
    const { pid } = await serve(project);
    const alone = await project.caisson('senses', 'list', '--no-daemon');
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining('Leave out --no-daemon')]);
    process.kill(pid, 'SIGSTOP');
    const stopped = await project.caisson('senses', 'list');
    process.kill(pid, 'SIGCONT');
    expect([stopped.code, stopped.stderr]).toEqual([1, expect.stringContaining(`kill -CONT ${pid}`)]);
    const ledger = open(project);
    await until('two slots', () => firedOf(ledger).length >= 2, 30_000);
    process.kill(pid, 'SIGKILL');
    const before = firedOf(ledger).length;
    await serve(project);
    await until('one more', () => firedOf(ledger).length > before, 30_000);
    const status = await readJson<DaemonStatus>(project, 'status');
    expect(status.schedules).toMatchObject([{ name: 'often', lastRunId: expect.any(String) as string }]);
    await project.caisson('down');
    const fired = firedOf(ledger);
    expect(new Set(fired.map(({ slot }) => slot)).size).toBe(fired.length);
    const runs = ledger.runs();
    expect(runs.map(({ idempotencyKey }) => idempotencyKey)).toEqual(
      fired.map(({ slot }) => `schedule:often:${slot}`),
    );
    expect(fired.map(({ startedRun }) => startedRun)).toEqual(runs.map(({ runId }) => runId));
    expect((await project.caisson('schedules')).stdout).toContain(fired.at(-1)?.startedRun);
  });

  it('records what was refused', async () => {
    const project = createProject({ config: often(', agent: nobody') });
    await serve(project);
    const ledger = open(project);
    await until('a slot', () => firedOf(ledger).length > 0, 30_000);
    expect(firedOf(ledger)[0]?.problem).toMatch(/^TASK_REFUSED: .*nobody/);
    expect((await project.caisson('schedules')).stdout).toContain('TASK_REFUSED');
  });

  it('is changed by a reload, and not by one that the user has not agreed to', async () => {
    const project = createProject({ config: 'mode: auto-edit\n', trusts: false });
    await serve(project);
    project.write('caisson.yaml', often());
    const refused = await project.caisson('reload');
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringMatching(/^ {2}schedules\.often: .*\n/m),
    ]);
    expect(refused.stderr).not.toContain(String.raw`\u000a`);
    expect(await readJson(project, 'schedules')).toEqual([]);
    await project.trust();
    const reloaded = await project.caisson('reload');
    expect([reloaded.code, reloaded.stdout]).toEqual([
      0,
      expect.stringContaining('Changed at once: schedules.often.'),
    ]);
    expect((await project.caisson('reload')).stdout).toBe('Nothing has changed.\n');
    expect(await readJson(project, 'schedules')).toMatchObject([{ name: 'often' }]);
    project.write('caisson.yaml', `${often()}senses: { gone: { file: gone.ts, interval: 2h } }\n`);
    await project.trust();
    const missing = await project.caisson('reload');
    expect([missing.code, missing.stderr]).toEqual([
      0,
      expect.stringContaining('warning: senses.gone: there is no file gone.ts'),
    ]);
    expect(missing.stdout).toMatch(/interval: - → 2h$/m);
    const ledger = open(project);
    await until('a slot', () => firedOf(ledger).length > 0, 30_000);
  });
});

it('init --with residents writes an example that is accepted as it is, and overwrites nothing', async () => {
  const project = createProject();
  const dry = await readJson<{ files: Record<string, string> }>(
    project,
    'init',
    '--with',
    'residents',
    '--dry-run',
  );
  expect(Object.keys(dry.files)).toEqual(['senses/tests.mts', 'workflows/fix-build.mts']);
  expect(existsSync(join(project.root, 'senses'))).toBe(false);
  const { code, stdout } = await project.caisson('init', '--with', 'residents');
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining('Wrote senses/tests.mts and workflows/fix-build.mts.'),
  ]);
  expect(stdout).toContain('YOUR TESTS; echo $? > test-exit-code.txt');
  expect(stdout).toContain('Then: caisson trust --yes, caisson up -d, and caisson logs --all -f');
  const example = join(ROOT, 'examples/residents');
  for (const path of Object.keys(dry.files))
    expect(readFileSync(join(project.root, path), 'utf8')).toBe(readFileSync(join(example, path), 'utf8'));
  const trust = await project.caisson('trust');
  expect(trust.stdout).toMatch(/senses\.tests: .*senses\/tests\.mts/);
  expect(trust.stdout).toContain('runs this code by itself');
  const again = await project.caisson('init', '--with', 'residents');
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('senses/tests.mts exists already')]);
});

it('init --with residents beside a caisson.yaml leaves it as it is, and prints the lines for it', async () => {
  const project = createProject({ config: 'mode: auto-edit\n' });
  const words = ['init', '--with', 'residents'];
  const lines = /Add to \S+caisson\.yaml, which is left as it is:\n\n[^]* senses:\n[^]* workflows:\n/;
  const dry = await project.caisson(...words, '--dry-run');
  expect([dry.code, dry.stdout]).toEqual([0, expect.stringMatching(lines)]);
  expect(dry.stdout).not.toMatch(/Would write \S+caisson\.yaml/);
  const { code, stdout } = await project.caisson(...words);
  expect([code, stdout]).toEqual([0, expect.stringMatching(lines)]);
  expect(readFileSync(join(project.root, 'caisson.yaml'), 'utf8')).toBe('mode: auto-edit\n');
  expect(existsSync(join(project.root, 'workflows/fix-build.mts'))).toBe(true);
});
