/** A plain command has the streams of the person who runs it: it prints to them as it runs, and reads from them. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openTerminal } from './on-terminal.ts';
import { BIN, createProject, finish, ROOT, until, type Project } from './project.ts';
import { isRoot, STRANGER } from './users.ts';

const TOKEN = 'tok-5k2j4h6g8f0d1s3a';

function attach(project: Project, script: string, ...options: string[]) {
  const words = [BIN, 'run', ...options, '--', 'sh', '-c', script];
  const child = spawn(process.execPath, words, { cwd: project.root, env: project.env });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it('answers what is typed, while it runs; stdout has its bytes alone, and secrets are redacted', async () => {
  const project = createProject({ env: { TOKEN } });
  const script = 'echo "ready $TOKEN"; read line; printf "got %s" "$line"; echo "oh $TOKEN" >&2; exit 5';
  const child = attach(project, script, '--secret', 'TOKEN=env:TOKEN');
  let seen = '';
  child.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  const ended = finish(child);
  await until('its first line', () => seen === 'ready [redacted:TOKEN]\n');
  child.stdin.write('a line\n');
  const { stdout, stderr } = await ended;
  expect(stdout).toBe('ready [redacted:TOKEN]\ngot a line');
  expect(stderr).toMatch(/accepted: command\noh \[redacted:TOKEN\]\nfailed {2}run_/);
  const [shown, log] = [
    await project.caisson('show', 'latest'),
    await project.caisson('logs', 'latest', '--stderr'),
  ];
  expect(shown.stdout).toMatch(/✗ command {2}.*\n/);
  expect(log.stdout).toBe('oh [redacted:TOKEN]\n');
});

it('keeps the order of both streams where they go to one place', async () => {
  const project = createProject();
  const script = 'for i in 1 2 3 4 5 6 7 8 9; do echo out$i; echo err$i >&2; done; exit 1';
  const line = `exec "$@" 2>&1`;
  const child = spawn('/bin/sh', ['-c', line, 'sh', process.execPath, BIN, 'run', '--', 'sh', '-c', script], {
    cwd: project.root,
    env: project.env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = (await finish(child)).stdout.split('\n').filter((text) => /^(out|err)\d$/.test(text));
  expect(lines).toEqual(
    Array.from({ length: 9 }, (_, index) => [`out${index + 1}`, `err${index + 1}`]).flat(),
  );
  const result = JSON.parse((await project.caisson('show', 'latest', '-o', 'json')).stdout) as {
    failure: { detail: string };
  };
  expect(result.failure.detail).toContain('err9');
});

it('loses nothing to a slow reader, and a reader that leaves ends no run', { timeout: 60_000 }, async () => {
  const project = createProject();
  const bytes = 6_000_000;
  const script = `head -c ${bytes} /dev/zero | tr '\\0' x; echo end > end.txt`;
  const child = attach(project, script);
  child.stdin.end();
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  child.stdout.pause();
  let length = first.length;
  child.stdout.on('data', (chunk: Buffer) => (length += chunk.length));
  child.stdout.resume();
  await once(child, 'close');
  expect([length, child.exitCode]).toEqual([bytes, 0]);
  const left = attach(project, script);
  left.stdin.end();
  await once(left.stdout, 'data');
  left.stdout.destroy();
  const { code, stderr } = await finish(left);
  expect([code, stderr]).toEqual([0, expect.stringContaining('patch: caisson diff')]);
});

it('a stuck reader holds up neither a cancel nor the next run, and a forced stop leaves it', async () => {
  const project = createProject({ config: 'limits: { concurrency: 1 }\n' });
  const fifo = join(project.env['HOME'] ?? '', 'fifo');
  execFileSync('mkfifo', [fifo]);
  const unread = openSync(fifo, 'r+');
  onTestFinished(() => closeSync(unread));
  const child = spawn(process.execPath, [BIN, 'run', '--', 'yes'], {
    cwd: project.root,
    env: project.env,
    stdio: ['ignore', unread, 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let notes = '';
  child.stderr?.on('data', (chunk: Buffer) => (notes += chunk.toString()));
  await until(
    'it prints',
    async () => (await project.caisson('logs', 'latest', '--stdout')).stdout.length > 65_536,
  );
  await project.caisson('cancel', 'latest');
  await until('its ending', async () =>
    (await project.caisson('runs', '-o', 'json')).stdout.includes('"cancelled"'),
  );
  expect((await project.caisson('run', '--', 'echo', 'next')).stdout).toBe('next\n');
  expect(child.exitCode).toBeNull();
  const ended = once(child, 'exit');
  await until('it is forced', () => {
    // It may have ended since the last look, and then takes no signal.
    const isForced = notes.includes('Forcing');
    if (!isForced) child.kill('SIGINT');
    return isForced;
  });
  await ended;
});

it('output that finds no room is an error, and the command ends all the same', async () => {
  const project = createProject();
  for (const [to, said] of [
    ['> /dev/full', 'error: the output could not be written: ENOSPC'],
    ['2> /dev/full', ''],
  ] as const) {
    const line = `"$0" "$1" run -- sh -c 'echo hello; echo hello >&2' ${to}`;
    const child = spawn('/bin/sh', ['-c', line, process.execPath, BIN], {
      cwd: project.root,
      env: project.env,
    });
    const { code, stderr } = await finish(child);
    expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
  }
  expect((await project.caisson('show', 'latest')).stdout).toMatch(/^finished/);
});

it("another user's pipe, which cannot be opened again, is no input", async () => {
  const module = join(ROOT, 'packages/cli/src/attach.ts');
  const program = `console.log((await import(${JSON.stringify(module)})).hasInput())`;
  const become = isRoot ? `setpriv --reuid=${STRANGER} --regid=${STRANGER} --clear-groups` : '';
  const line = `echo something | ${become} "$0" --input-type=module -e "$1"`;
  const { stdout } = await finish(spawn('/bin/sh', ['-c', line, process.execPath, program]));
  expect(stdout).toBe(`${!isRoot}\n`);
});

it('is refused where nobody could pass its input on', async () => {
  const project = createProject();
  const file = join(project.root, 'given');
  writeFileSync(file, 'something\n');
  const detached = (line: string) =>
    finish(
      spawn('/bin/sh', ['-c', line.replace('CMD', '"$0" "$1" run --detach -- cat'), process.execPath, BIN], {
        cwd: project.root,
        env: project.env,
      }),
    );
  for (const from of ['echo something | CMD', 'CMD < given']) {
    const { code, stderr } = await detached(from);
    expect([code, stderr]).toEqual([2, expect.stringContaining('a detached command cannot read this stdin')]);
  }
  expect((await detached('CMD < /dev/null')).stdout).toMatch(/^run_/);
});

it('is shown on a terminal without what a terminal would obey, and its input is typed there', async () => {
  const project = createProject();
  const script = 'printf "name: "; read name; printf "\\033]52;c;AAAA\\007hello %s" "$name"';
  const terminal = openTerminal(project, ['run', '--', 'sh', '-c', script]);
  await until('its question', () => terminal.screen().includes('name: '));
  terminal.type('Ada\n');
  expect(await terminal.ended).toBe(0);
  expect(terminal.screen()).toContain('\\u001b]52;c;AAAA\\u0007hello Ada\r\n');
  expect(terminal.screen()).not.toContain('\u001b]52');
  expect(terminal.screen()).toMatch(/hello Ada\r\n[^]*finished/);
});
