import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { openTerminal } from './on-terminal.ts';
import { createProject, finish, ROOT, until } from './project.ts';

const filesWith = (folder: string, text: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));

describe('a forgotten run', () => {
  test('is still reported, and nothing of what it made is shown or kept as files', async () => {
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
          new RegExp(`^error: ${runId} was forgotten at .*: its contents were deleted\\. What is left`),
        ) as string,
      });
    }
    const shown = await project.caisson('show', runId);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('Its contents were deleted (caisson forget).');
    expect(shown.stdout.slice(shown.stdout.indexOf('Came out'))).not.toContain('the-output');
    const trash = join(project.root, '.caisson/trash');
    expect(existsSync(trash) ? readdirSync(trash) : []).toEqual([]);

    expect(filesWith(join(project.root, '.caisson/store'), 'the-work')).toEqual([]);
    expect(filesWith(join(project.root, '.caisson/store'), runId)).toEqual([]);
    expect((await project.caisson('gc', '--older-than', '1ms')).code).toBe(0);
    expect((await project.caisson('show', runId)).stdout).toContain('Its contents were deleted');
  });

  test('has no open question any more', async () => {
    const project = createProject();
    const asks = `echo '{"question":"which?"}' > .caisson/needs_input.json`;
    const { runId } = await project.run('--', 'sh', '-c', asks);
    expect((await project.caisson('questions')).stdout).toContain('which?');
    await project.caisson('forget', runId);
    expect((await project.caisson('questions')).stdout).not.toContain('which?');
    expect((await project.caisson('answer', runId, 'this')).stderr).toContain(`${runId} was forgotten`);
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

test('cancel reports which run it stopped, however it was named', async () => {
  const project = createProject();
  const { runId } = await project.run('--', 'true');
  expect((await project.caisson('cancel', 'latest')).stdout).toBe(`${runId} has already ended\n`);
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

describe('what to do with the work', () => {
  test('a patch that is in the files already is no conflict, whether committed or not', async () => {
    const project = createProject();
    project.write('old.txt', 'old\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'second');
    const change = 'echo two >> README.md; chmod +x README.md; echo n > new; ln -s new link; rm old.txt';
    const { runId } = await project.run('--', 'sh', '-c', change);
    expect((await project.caisson('apply', runId)).stdout).toContain('Applied to 4 files');
    const again = await project.caisson('apply', runId);
    expect([again.code, again.stdout]).toEqual([
      0,
      'Nothing to apply: your files are already as the patch makes them.\n',
    ]);
    expect(JSON.parse((await project.caisson('apply', runId, '-o', 'json')).stdout)).toEqual({
      kind: 'applied',
      files: [],
      already: 'there',
    });
    project.git('add', '-A');
    project.git('commit', '-qm', 'third');
    expect((await project.caisson('apply', runId)).stdout).toContain('already as the patch makes them');
    chmodSync(join(project.root, 'README.md'), 0o644);
    expect((await project.caisson('apply', runId)).stdout).not.toContain('already');
  });

  test('show and runs say that it was applied, or forgotten, and offer it no more', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'sh', '-c', 'echo n > new');
    const list = async (...args: string[]) => (await project.caisson('runs', ...args)).stdout;
    const json = async () => JSON.parse(await list('-o', 'json')) as Record<string, unknown>[];
    expect((await project.caisson('show', runId)).stdout).toContain(`apply: caisson apply ${runId}`);
    expect([await list(), (await json())[0]?.['appliedAt']]).toEqual([
      expect.not.stringContaining('applied'),
      undefined,
    ]);

    await project.caisson('apply', runId);
    const shown = await project.caisson('show', runId);
    expect(shown.stdout).toMatch(/\n {2}applied: \d{4}-\d\d-\d\dT\S+Z, 1 file\n/);
    expect(shown.stdout).not.toContain('caisson apply');
    const { applied } = JSON.parse((await project.caisson('show', runId, '-o', 'json')).stdout) as {
      applied: { at: string };
    };
    expect(applied).toEqual({ at: expect.any(String) as string, files: 1, hasConflicts: false });
    expect(await list()).toMatch(/ {2}done, applied {2}/);
    expect((await json())[0]).toMatchObject({ runId, appliedAt: applied.at });

    const other = await project.run('--', 'sh', '-c', 'echo o > other');
    await project.caisson('forget', other.runId);
    expect(await list()).toMatch(/ {2}done, forgotten {2}/);
    expect((await json())[0]).toMatchObject({ forgottenAt: expect.any(String) as string });
    await project.caisson('forget', runId);
    expect(await list()).toMatch(/ {2}done, applied, forgotten {2}/);
  });

  test('an apply that left conflict markers says so until it is applied without', async () => {
    const project = createProject();
    const readme = join(project.root, 'README.md');
    const { runId } = await project.run('--', 'sh', '-c', 'echo theirs > README.md');
    writeFileSync(readme, 'mine\n');
    project.git('commit', '-qam', 'mine');
    expect((await project.caisson('apply', runId, '--leave-conflicts')).code).toBe(1);
    const list = async () => (await project.caisson('runs')).stdout;
    expect(await list()).toMatch(/ {2}done, applied with conflicts {2}/);
    expect((await project.caisson('show', runId)).stdout).toContain(', 1 file, with conflict markers');
    project.git('reset', '-q', '--hard', 'HEAD~1');
    expect((await project.caisson('apply', runId)).code).toBe(0);
    expect(await list()).toMatch(/ {2}done, applied {2}/);
    expect((await project.caisson('show', runId)).stdout).not.toContain('conflict');
  });

  test('a run in place says that its changes are there, and so does apply', async () => {
    const project = createProject();
    const ran = await project.caisson('run', '--workspace', 'in-place', '--', 'sh', '-c', 'echo x > new');
    expect(ran.stderr).toContain('in place: its changes are already in your files');
    expect(ran.stderr).not.toContain('caisson apply');
    expect((await project.caisson('show', 'latest')).stdout).not.toContain('caisson apply');
    expect((await project.caisson('apply', 'latest')).stdout).toContain('the run worked in place');
  });

  test('a run with --apply does not ask for an apply that follows by itself, and does not go with --detach', async () => {
    const project = createProject();
    const ran = await project.caisson('run', '--apply', '--', 'sh', '-c', 'echo x > new');
    expect(ran.stdout).toContain('Applied to 1 file');
    expect(ran.stderr).not.toContain('apply: caisson apply');
    const left = await project.caisson('run', '--apply', '--detach', '--', 'true');
    expect([left.code, left.stderr]).toEqual([
      2,
      expect.stringContaining('--apply needs a run in the foreground'),
    ]);
  });
});

describe('a run with --apply and --verify', () => {
  test('applies what passed, and leaves what did not for a person to look at', async () => {
    const project = createProject();
    const run = (verify: string) =>
      project.caisson('run', '--apply', '--verify', verify, '--', 'sh', '-c', 'echo x > new');
    const bad = await run('test -e missing');
    expect([bad.code, existsSync(join(project.root, 'new'))]).toEqual([1, false]);
    expect(bad.stderr).toContain('Not applied: verify did not pass.');
    expect(bad.stderr).toContain('apply: caisson apply run_');
    const good = await run('test -e new');
    expect([good.code, existsSync(join(project.root, 'new'))]).toEqual([0, true]);
  });
});

describe('what a run prints at its end', () => {
  test('is shown as long as it is short, and then says where all of it is', async () => {
    const project = createProject();
    await project.caisson('run', '--', 'seq', '30');
    expect((await project.caisson('show', 'latest')).stdout).toMatch(/\n {2}1\n {2}2\n/);
    await project.caisson('run', '--', 'seq', '1000');
    expect((await project.caisson('show', 'latest')).stdout).toMatch(
      /… the end of 3\.8 KiB; all: caisson logs run_\w+ --stdout\n {2}961\n/,
    );
    const flood = await project.caisson('run', '--', 'sh', '-c', 'yes | head -c 5000000');
    expect(flood.stdout.length).toBe(5_000_000);
    expect((await project.caisson('show', 'latest')).stdout).toContain('… the end of more than 4.0 MiB');
  });

  test('is of the earlier run, and said to be, where the idempotency key is known', async () => {
    const project = createProject();
    const run = () => project.caisson('run', '--idempotency-key', 'once', '--', 'date', '+%N');
    const [first, second] = [await run(), await run()];
    expect(second.stdout.startsWith(first.stdout)).toBe(true);
    expect(first.stderr).not.toContain('idempotency');
    expect(second.stderr).toMatch(/run_\w+ already has this idempotency key; nothing new is started\n/);
  });
});

describe('a run that is named by a part of its id', () => {
  test('is found when the part is unique, and none is touched when it is not', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'true');
    const other = await project.run('--', 'true');
    for (const part of [runId, runId.slice(4, 20), runId.slice(0, 20), runId.slice(-8)])
      expect((await project.caisson('show', part)).stdout).toContain(runId);
    const both = await project.caisson('forget', 'run_');
    expect([both.code, both.stderr]).toEqual([
      1,
      `error: run_ could be 2 runs: ${other.runId}, ${runId}. Give more of the id.\n`,
    ]);
    expect((await project.caisson('cancel', 'run_none')).stderr).toContain('there is no run run_none');
  });
});

describe('data for programs', () => {
  test('logs of every kind are JSON when JSON was asked for, followed or not', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'sh', '-c', "printf 'a\\377b'; echo oops >&2");
    const read = async (...args: string[]): Promise<unknown> =>
      JSON.parse((await project.caisson('logs', runId, '-o', 'json', ...args)).stdout);
    const events = (await read()) as unknown[];
    expect(events.length).toBeGreaterThan(4);
    expect(await read('-f')).toEqual(events);
    expect(await read('-f', '--after', '2')).toEqual(events.slice(2));
    const stdout = { stream: 'stdout', log: Buffer.from('a\xffb', 'latin1').toString('base64') };
    expect(await read('--stdout')).toEqual({ ...stdout, encoding: 'base64', bytes: 3 });
    expect(await read('--stdout', '-f')).toMatchObject(stdout);
    const lines = (await project.caisson('logs', runId, '-o', 'ndjson', '--stderr', '-f')).stdout;
    expect(
      lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toMatchObject([{ stream: 'stderr', log: Buffer.from('oops\n').toString('base64') }]);
    expect(JSON.parse((await project.caisson('completion', 'bash', '-o', 'json')).stdout)).toMatchObject({
      shell: 'bash',
      script: expect.stringContaining('caisson') as string,
    });
  });
});

describe('long lines', () => {
  test('are broken between words at 80 columns, and not at all in a pipe', { timeout: 60_000 }, async () => {
    const project = createProject();
    const words = 'a few words '.repeat(20).trim();
    await project.run('--', 'sh', '-c', `echo n > new # ${words}`);
    for (const args of [
      ['logs'],
      ['gc', '--all', '--older-than', '0s'],
      ['show', `run_${'x '.repeat(60)}y`],
    ]) {
      const piped = await project.caisson(...args);
      const whole = (piped.stdout + piped.stderr).trimEnd().split('\n');
      const terminal = openTerminal(project, args);
      await terminal.ended;
      const lines = stripVTControlCharacters(terminal.screen()).trimEnd().split('\r\n');
      expect(Math.max(...whole.map((line) => line.length)), args[0]).toBeGreaterThan(80);
      expect(Math.max(...lines.map((line) => line.length)), args[0]).toBeLessThanOrEqual(80);
      // A word of more than 80 characters, such as a path, is broken all the same.
      const wordsOf = (text: string) => text.match(/(?<!\S)[a-z]{1,20}(?!\S)/g);
      expect(wordsOf(lines.join(' ')), args[0]).toEqual(wordsOf(whole.join(' ')));
    }
  });
});
