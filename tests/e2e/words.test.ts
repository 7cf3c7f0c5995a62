/** What people read: each line says what is there, and nothing that is not. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, finish, ROOT, until } from './project.ts';

it('show says scope, branch and priority', { timeout: 120_000 }, async () => {
  const project = createProject();
  const asked = ['--scope', 'src', '--branch', 'work', '--priority', '3'];
  const { runId } = await project.run(...asked, '--', 'sh', '-c', 'mkdir src; echo a >src/a');
  const { stdout } = await project.caisson('show', runId);
  for (const line of ['scope: src', 'branch: work', 'priority: 3 of 1 to 10'])
    expect(stdout).toContain(`  ${line}\n`);
  const shown = JSON.parse((await project.caisson('show', runId, '-o', 'json')).stdout) as { task: unknown };
  expect(shown.task).toEqual({ priority: 3, scope: ['src'], branch: 'work' });
});

it(
  'runs says who waits in the queue, at which place and with which priority',
  { timeout: 120_000 },
  async () => {
    const project = createProject({ config: 'limits: { concurrency: 1 }\n' });
    await project.trust();
    const first = project.start('run', '--', 'sleep', '60');
    const list = async (): Promise<string> => (await project.caisson('runs')).stdout;
    await until('it runs', async () => (await list()).includes(' running '));
    const later = project.start('run', '--priority', '9', '--', 'true');
    await until('one waits', async () => (await list()).includes('queued, number 1, priority 9'));
    const sooner = project.start('run', '--priority', '2', '--', 'true');
    await until('another goes before it', async () =>
      (await list()).includes('queued, number 1, priority 2'),
    );
    expect(await list()).toContain('queued, number 2, priority 9');
    for (const child of [first, later, sooner]) child.kill('SIGINT');
    await Promise.all([first, later, sooner].map(finish));
  },
);

it('work so far is reported where there is some, and only there', { timeout: 120_000 }, async () => {
  const project = createProject();
  const reported = 'work so far: caisson diff';
  const none = await project.caisson('run', '--retries', '0', '--', 'false');
  expect([none.code, none.stdout]).toEqual([1, expect.not.stringContaining('work so far')]);
  expect((await project.caisson('show', 'latest')).stdout).not.toContain('work so far');
  const killed = project.start('run', '--', 'sh', '-c', 'echo a >a; sleep 60');
  const files = join(project.root, '.caisson/worktrees');
  await until(
    'the file',
    () => execFileSync('find', [files, '-name', 'a', '-size', '+0'], { encoding: 'utf8' }) !== '',
  );
  killed.kill('SIGKILL');
  await finish(killed);
  expect((await project.caisson('show', 'latest')).stdout).toContain(reported);
});

it('verify says why there is no public key to compare', { timeout: 120_000 }, async () => {
  const project = createProject();
  const { runId } = await project.run('--', 'true');
  const { stdout } = await project.caisson('verify', runId);
  expect(stdout).toMatch(/n\/a +public-key +no copy of the key came along: only an export has one/);
});

it('an interrupted run ends as the help says', { timeout: 120_000 }, async () => {
  const project = createProject();
  const child = project.start('run', '--', 'sleep', '60');
  const ended = finish(child);
  await until('it runs', async () => (await project.caisson('runs')).stdout.includes(' running '));
  child.kill('SIGTERM');
  expect((await ended).code).toBe(130);
  expect((await project.caisson('run', '--help')).stdout).toMatch(/exit\s+130/);
});

it('the model server of the testkit prints help, and a mistake in a line', () => {
  const serve = (...args: string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'packages/testkit/src/serve.ts'), ...args], { encoding: 'utf8' });
  expect(serve('--help')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^usage: serve /) as string,
  });
  const wrong = serve('--nonsense');
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.not.stringMatching(/^ +at /m)]);
  expect(wrong.stderr).toContain('usage: serve ');
});

it('the README has a line that makes caisson a command', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [line = ''] = /^alias caisson=.*$/m.exec(readme) ?? [];
  const script = `shopt -s expand_aliases\n${line}\ncaisson version`;
  expect(execFileSync('bash', ['-c', script], { cwd: ROOT, encoding: 'utf8' })).toMatch(/\d+\.\d+/);
});
