import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { runBounded, type BoundedCommandOptions } from './bounded-command.ts';
import { CommandStartError } from './start-child.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'caisson-bounded-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function runShell(script: string, options: Partial<BoundedCommandOptions> = {}) {
  return runBounded({
    file: 'sh',
    args: ['-c', script],
    timeoutMs: 20_000,
    maxOutputBytes: 65_536,
    ...options,
  });
}

/** A zombie counts as gone: it runs nothing, and in a container it may never be reaped. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat !== null && !/\) Z /.test(stat);
}

async function expectGone(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid), { timeout: 5000 }).toBe(false);
}

test('output, exit code and stdin of a plain command are carried byte for byte', async () => {
  const input = Buffer.from([0, 255, 10, 13, 128]);
  const result = await runShell('cat; echo problem >&2; exit 7', { stdin: input });
  expect(result).toEqual({
    exitCode: 7,
    signal: null,
    stdout: input,
    stderr: Buffer.from('problem\n'),
    stdoutTruncated: false,
    stderrTruncated: false,
    timedOut: false,
    aborted: false,
    durationMs: expect.any(Number),
  });
});

test('the child sees exactly the environment that was passed', async () => {
  const result = await runBounded({
    file: '/usr/bin/env',
    args: [],
    env: { ONLY: 'this' },
    timeoutMs: 20_000,
    maxOutputBytes: 65_536,
  });
  expect(result.stdout.toString()).toBe('ONLY=this\n');
});

test('without an environment the child sees a PATH and nothing else', async () => {
  const result = await runBounded({
    file: '/usr/bin/env',
    args: [],
    timeoutMs: 20_000,
    maxOutputBytes: 65_536,
  });
  expect(result.stdout.toString()).toMatch(/^PATH=[^\n]*\n$/);
});

test('a child without stdin reads end-of-file instead of waiting', async () => {
  const result = await runShell('cat; echo done');
  expect(result.stdout.toString()).toBe('done\n');
});

test('a child that never reads its input does not break the call', async () => {
  const result = await runShell('exit 3', { stdin: Buffer.alloc(4 << 20) });
  expect(result.exitCode).toBe(3);
});

test('output beyond the cap is dropped while the child runs to its end', async () => {
  const result = await runShell('head -c 3000000 /dev/zero; echo end >&2', { maxOutputBytes: 1000 });
  expect(result.stdout.length).toBe(1000);
  expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: true, stderrTruncated: false });
});

test('output of exactly the cap is not called truncated', async () => {
  const result = await runShell('head -c 1000 /dev/zero', { maxOutputBytes: 1000 });
  expect(result.stdout.length).toBe(1000);
  expect(result.stdoutTruncated).toBe(false);
});

test('large output arrives whole', async () => {
  const result = await runShell('head -c 5000000 /dev/zero', { maxOutputBytes: 8 << 20 });
  expect(result.stdout.length).toBe(5_000_000);
});

test('a command over its time is ended by SIGTERM, and its whole group with it', async () => {
  const result = await runShell('sleep 1000 & echo $!; wait', { timeoutMs: 300 });
  expect(result).toMatchObject({ exitCode: null, signal: 'SIGTERM', timedOut: true, aborted: false });
  await expectGone(Number(result.stdout.toString()));
});

test('a command that ignores SIGTERM is killed after the grace', async () => {
  const result = await runShell(`trap '' TERM; echo $$; while :; do sleep 1; done`, {
    timeoutMs: 200,
    graceMs: 200,
  });
  expect(result).toMatchObject({ signal: 'SIGKILL', timedOut: true });
  expect(result.durationMs).toBeGreaterThanOrEqual(390);
  await expectGone(Number(result.stdout.toString()));
});

test('a command may use its grace to end in order', async () => {
  const result = await runShell(`trap 'echo saved; exit 9' TERM; echo up; while :; do sleep 0.05; done`, {
    timeoutMs: 300,
    graceMs: 10_000,
  });
  expect(result).toMatchObject({ exitCode: 9, timedOut: true });
  expect(result.stdout.toString()).toBe('up\nsaved\n');
});

test('an abort ends the command and differs from a timeout', async () => {
  const controller = new AbortController();
  const running = runShell('sleep 1000', { signal: controller.signal });
  controller.abort();
  expect(await running).toMatchObject({ signal: 'SIGTERM', aborted: true, timedOut: false });
});

test('nothing is started for a signal that was aborted before', async () => {
  const marker = join(folder, 'ran');
  const result = await runShell(`: > ${marker}`, { signal: AbortSignal.abort() });
  expect(result).toMatchObject({ aborted: true, exitCode: null });
  await expect(readFile(marker)).rejects.toThrow('ENOENT');
});

test('a background child left in the group is killed when its leader exits', async () => {
  const result = await runShell('sleep 1000 & echo $!');
  expect(result.exitCode).toBe(0);
  await expectGone(Number(result.stdout.toString()));
});

test('a grandchild in its own session that holds stdout open does not hold the call open', async () => {
  const script = `setsid sh -c 'echo $$ > pid; exec sleep 1000' & until [ -s pid ]; do sleep 0.01; done; cat pid`;
  const result = await runShell(script, { cwd: folder });
  const pid = Number(result.stdout.toString());
  expect(result.exitCode).toBe(0);
  expect(result.durationMs).toBeLessThan(5000);
  expect(await isAlive(pid)).toBe(true);
  process.kill(pid, 'SIGKILL');
});

test('a program that does not exist is a start error that names it', async () => {
  const failing = runBounded({ file: 'no-such-program', args: [], timeoutMs: 1000, maxOutputBytes: 10 });
  await expect(failing).rejects.toThrow(CommandStartError);
  await expect(failing).rejects.toThrow('no-such-program');
});

test('a missing folder is named instead of the program', async () => {
  const cwd = join(folder, 'missing');
  await expect(runShell('true', { cwd })).rejects.toThrow(`its folder ${cwd} does not exist`);
});

test('an argument with a NUL byte is a start error, not a crash', async () => {
  await expect(runShell('true\0')).rejects.toThrow(CommandStartError);
});

test('a timeout beyond the range of a timer is no timeout at all', async () => {
  expect(await runShell('sleep 0.1; echo ok', { timeoutMs: 2 ** 40 })).toMatchObject({
    exitCode: 0,
    timedOut: false,
  });
});

test('a timeout of zero or NaN is refused', async () => {
  await expect(runShell('true', { timeoutMs: 0 })).rejects.toThrow(RangeError);
  await expect(runShell('true', { timeoutMs: Number.NaN })).rejects.toThrow(RangeError);
});

test('with endsWithUs a program that ignores SIGTERM is gone a moment after its starter was killed', async () => {
  const module = join(import.meta.dirname, 'bounded-command.ts');
  const source = `import { runBounded } from ${JSON.stringify(module)};
    const script = 'trap "" TERM; echo $$ >&2; while :; do sleep 0.05; done';
    const options = { timeoutMs: 60_000, maxOutputBytes: 100, endsWithUs: true };
    await runBounded({ ...options, file: '/bin/sh', args: ['-c', 'exec 2>"$0"; ' + script, process.argv[1]] });`;
  const note = join(folder, 'pid');
  const starter = spawn(process.execPath, ['--input-type=module', '-e', source, note], { stdio: 'ignore' });
  const pidOf = (): number => (existsSync(note) ? Number(readFileSync(note, 'utf8').trim()) : 0);
  await expect.poll(pidOf, { timeout: 20_000 }).toBeGreaterThan(0);
  starter.kill('SIGKILL');
  await expect.poll(() => existsSync(`/proc/${pidOf()}`), { timeout: 20_000 }).toBe(false);
}, 60_000);
