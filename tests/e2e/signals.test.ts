/**
 * What a signal to a host does to its run: every process in it gets the signal and a grace, and the ending names the
 * cause.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isTerminal, type DispatchResult } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { openTerminal } from './on-terminal.ts';
import { createProject, finish, pidsWith, until, type Project } from './project.ts';

/** After a stop signal, it waits a moment and leaves a file. */
const SAVES = `my $name = shift; $SIG{TERM} = sub {
  select(undef, undef, undef, 0.3);
  open(my $file, '>', $name); print $file "saved\\n"; close $file; exit 0 };
open(my $up, '>', "$name.up"); close $up; sleep 600;`;

/** Trees in which a signal to the first process alone reaches no process that would save anything. */
const TREES = [
  { name: 'a command that its shell waits for', line: 'perl saves.pl a; echo after', saved: ['a'] },
  {
    name: 'sessions of their own, below a program that ends at once',
    line: 'setsid perl saves.pl a & (setsid sh -c "setsid perl saves.pl b & sleep 600" &); exec sleep 600',
    saved: ['a', 'b'],
  },
];

function createSaving(): Project {
  const project = createProject({ git: false, config: 'limits: { grace: 20s }\n' });
  project.write('saves.pl', SAVES);
  return project;
}

const areUp = (project: Project, names: readonly string[]): Promise<unknown> =>
  until('all are up', () => names.every((name) => existsSync(join(project.root, `${name}.up`))));

async function expectInterrupted(
  project: Project,
  run: string,
  saved: readonly string[],
  stdout = '',
): Promise<void> {
  const shown = JSON.parse((await project.caisson('show', run, '-o', 'json')).stdout) as DispatchResult;
  expect([shown.status, shown.failure, shown.stdout]).toEqual(['interrupted', undefined, stdout]);
  const events = await project.events(run);
  expect(events.filter(({ type }) => isTerminal(type))).toMatchObject([
    { type: 'dispatch.cancelled', cause: 'shutdown' },
  ]);
  expect(events.map(({ type }) => type)).toContain('evidence.sealed');
  const { stdout: patch } = await project.caisson('diff', run);
  for (const name of saved) expect(patch).toContain(`diff --git a/${name} b/${name}`);
}

describe('SIGTERM to the host of a run', { timeout: 60_000 }, () => {
  const cases = TREES.flatMap((tree) => [
    { ...tree, sandbox: 'bwrap' },
    { ...tree, sandbox: 'none' },
  ]);
  it.each(cases)('reaches $name (sandbox $sandbox), and what they save is in the patch', async (tree) => {
    const project = createSaving();
    await project.trust();
    const command = ['--sandbox', tree.sandbox, '--', 'sh', '-c', tree.line];
    const host = project.start('run', '-o', 'json', ...command);
    const ended = finish(host);
    await areUp(project, tree.saved);
    host.kill('SIGTERM');
    const { code, stdout, stderr } = await ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining('A second signal forces.')]);
    await expectInterrupted(project, (JSON.parse(stdout) as DispatchResult).runId, tree.saved);
  });

  it('forces the run to stop when it comes twice', async () => {
    const project = createProject({ git: false, config: 'limits: { grace: 10m }\n' });
    await project.trust();
    const host = project.start(
      'run',
      '-o',
      'ndjson',
      '--',
      'sh',
      '-c',
      'trap "" TERM; echo >up; sleep 600; :',
    );
    const ended = finish(host);
    await until('it is up', () => existsSync(join(project.root, 'up')));
    let said = '';
    host.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    host.kill('SIGTERM');
    host.kill('SIGTERM'); // as timeout(1) does: to the process, and to its group
    await until('it was reported', () => said.includes('Stopping'));
    const reportedMs = performance.now();
    await until('the next one is another one', () => performance.now() - reportedMs > 300);
    expect(said).not.toContain('Forcing');
    host.kill('SIGTERM');
    const { code, stdout } = await ended;
    expect(said).toMatch(/^Stopping.*\nForcing/m);
    expect(code).toBe(130);
    expect(stdout).toMatch(/"dispatch\.cancelled".*"cause":"shutdown"/);
  });
});

it(
  'a terminal that closes stops its run, and the work is kept and goes on',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    project.write('saves.pl', SAVES);
    const isUp = '(until test -e a.up; do sleep 0.05; done; echo "is up") &';
    const line = `test -e a || { ${isUp} perl saves.pl a; exit 1; }; echo after > b`;
    const terminal = openTerminal(project, ['run', '--', 'sh', '-c', line], { before: 'exec ' });
    await until('it is up', () => terminal.screen().includes('is up'));
    terminal.close();
    await until('its run has ended', async () =>
      (await project.caisson('runs', '-o', 'json')).stdout.includes('"interrupted"'),
    );
    await expectInterrupted(project, 'latest', ['a'], 'is up\n');
    expect(project.git('for-each-ref', 'refs/caisson')).toMatch(/refs\/caisson\/run_\w+\/1/);
    expect(await project.caisson('apply', 'latest')).toMatchObject({ code: 0 });
    expect(await project.caisson('retry', 'latest')).toMatchObject({ code: 0 }); // from the files as they are now
    expect((await project.caisson('diff', 'latest')).stdout).toContain('b/b\n');
  },
);

it('a check that Ctrl-C stops is not called failed', { timeout: 60_000 }, async () => {
  const project = createProject();
  const line = ['--verify', 'sleep 600', '--', 'sh', '-c', 'echo x > f'];
  const host = project.start('run', '-o', 'ndjson', ...line);
  const ended = finish(host);
  let said = '';
  host.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until('the check runs', () => /"phase":"script"[^]*"sandbox\.started"/.test(said));
  host.kill('SIGINT');
  const { code, stdout } = await ended;
  expect([code, stdout.includes('verify.ran'), stdout.includes('dispatch.cancelled')]).toEqual([
    130,
    false,
    true,
  ]);
  const shown = (await project.caisson('show')).stdout;
  expect(shown).toContain('patch: 1 file');
  expect(shown).not.toMatch(/did not pass|exit null/);
});

describe('a signal to a background host', { timeout: 60_000 }, () => {
  it.each(['SIGTERM', 'SIGHUP'] as const)(
    '%s: the run has its grace and ends as interrupted, sealed',
    async (signal) => {
      const project = createSaving();
      const line = ['sh', '-c', 'perl saves.pl a; echo after'];
      const run = (await project.caisson('run', '--detach', '--', ...line)).stdout.trim();
      await areUp(project, ['a']);
      const [host = 0] = pidsWith(`host ${run}`);
      process.kill(host, signal);
      await until('the host is gone', () => pidsWith(`host ${run}`).length === 0);
      await expectInterrupted(project, run, ['a']);
    },
  );
});
