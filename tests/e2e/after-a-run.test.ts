import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createProject, finish, ROOT, until } from './project.ts';

const filesWith = (folder: string, text: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));

describe('a forgotten run', () => {
  test('is still told about, and nothing of what it made is shown or kept as files', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'sh', '-c', 'echo the-output; echo the-work > new.txt');
    expect((await project.caisson('diff', runId)).stdout).toContain('the-work');
    const forgotten = await project.caisson('forget', runId);
    expect([forgotten.code, forgotten.stdout]).toEqual([0, expect.stringContaining(`${runId} is forgotten`)]);

    for (const line of [['diff'], ['apply'], ['verify'], ['retry'], ['export'], ['logs', '--stdout']]) {
      const [name = '', ...options] = line;
      const { code, stdout, stderr } = await project.caisson(name, runId, ...options);
      expect({ line, code, stdout, stderr }).toEqual({
        line,
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          new RegExp(`^error: ${runId} was forgotten at .*: its contents were taken away\\. What is left`),
        ) as string,
      });
    }
    const shown = await project.caisson('show', runId);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('Its contents were taken away (caisson forget).');
    expect(shown.stdout.slice(shown.stdout.indexOf('Came out'))).not.toContain('the-output');
    const trash = join(project.root, '.caisson/trash');
    expect(existsSync(trash) ? readdirSync(trash) : []).toEqual([]);

    expect(filesWith(join(project.root, '.caisson/store'), 'the-work')).toEqual([]);
    expect(filesWith(join(project.root, '.caisson/store'), runId)).toEqual([]);
    expect((await project.caisson('gc', '--older-than', '1ms')).code).toBe(0);
    expect((await project.caisson('show', runId)).stdout).toContain('Its contents were taken away');
  });

  test('leaves what another run has too, and what a run under way may be about to name', async () => {
    const project = createProject();
    const script = ['sh', '-c', 'echo shared; echo shared > new.txt'];
    const first = await project.run('--', ...script);
    const second = await project.run('--', ...script);
    expect(second.result?.patchRef).toBe(first.result?.patchRef);
    await project.caisson('forget', first.runId);
    expect((await project.caisson('diff', second.runId)).stdout).toContain('+shared');
    expect((await project.caisson('verify', second.runId)).code).toBe(0);
    const { stdout } = await project.caisson('run', '--detach', '--', 'sleep', '600');
    await project.caisson('forget', second.runId);
    expect(filesWith(join(project.root, '.caisson/store'), '+shared')).toHaveLength(1);
    await project.caisson('cancel', stdout.trim());
    await until('it has ended', async () => {
      const { status } = JSON.parse((await project.caisson('show', stdout.trim(), '-o', 'json')).stdout) as {
        status: string;
      };
      return status === 'cancelled';
    });
    await project.caisson('gc', '--older-than', '1ms');
    expect(filesWith(join(project.root, '.caisson/store'), '+shared')).toEqual([]);
  });
});

test('logs --stdout -f follows what an agent prints and ends with the run', async () => {
  const project = createProject();
  const started = await project.caisson(
    ...[
      'run',
      '--detach',
      '--',
      'sh',
      '-c',
      'echo first; until [ -e .caisson/go ]; do sleep 0.05; done; echo last',
    ],
  );
  const runId = started.stdout.trim();
  const follower = project.start('logs', runId, '--stdout', '-f');
  let seen = '';
  follower.stdout?.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  const ended = finish(follower);
  await until('the first line', () => seen.includes('first\n'));
  expect(follower.exitCode).toBe(null);
  await project.caisson('cancel', runId);
  expect(await ended).toEqual({ code: 0, stdout: 'first\n', stderr: '' });
});

test('cancel tells which run it stopped, however it was named', async () => {
  const project = createProject();
  const { runId } = await project.run('--', 'true');
  expect((await project.caisson('cancel', 'latest')).stdout).toBe(`${runId} has ended already\n`);
});

test('cancel does not call a run settled whose host is merely stopped', async () => {
  const project = createProject();
  const host = project.start('run', '-o', 'ndjson', '--', 'sleep', '300');
  let events = '';
  host.stdout?.on('data', (chunk: Buffer) => (events += chunk.toString()));
  const ended = finish(host);
  await until('the run to have started', () => events.includes('dispatch.started'));
  host.kill('SIGSTOP');
  const { code, stdout } = await project.caisson('cancel', 'latest');
  host.kill('SIGCONT');
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/was asked to stop, but its host does not answer/),
  ]);
  expect((await ended).code).toBe(130);
});

test('a command typed in a sub-folder starts in that folder of the workspace', async () => {
  const project = createProject();
  project.write('sub/b.txt', 'b\n');
  const { stdout } = await finish(
    spawn(
      process.execPath,
      [join(ROOT, 'packages/cli/bin/caisson.js'), 'run', '--', 'sh', '-c', 'pwd; cat b.txt'],
      {
        cwd: join(project.root, 'sub'),
        env: project.env,
      },
    ),
  );
  expect(stdout).toMatch(new RegExp(`^${project.root}/sub\nb\n`));
});
