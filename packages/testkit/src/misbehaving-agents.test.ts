import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { MISBEHAVING_AGENTS, misbehavingAgent, type MisbehavingAgent } from './misbehaving-agents.ts';

const started: ChildProcessWithoutNullStreams[] = [];
const strays: number[] = [];

afterEach(async () => {
  for (const pid of strays.splice(0)) process.kill(pid, 'SIGKILL');
  await Promise.all(
    started.splice(0).map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await exit;
    }),
  );
});

/** In its own process group, so that whatever it starts and keeps can be ended with it. */
function start(name: MisbehavingAgent, ...args: string[]): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [misbehavingAgent(name), ...args], { detached: true });
  started.push(child);
  return child;
}

async function firstLine(child: ChildProcessWithoutNullStreams): Promise<string> {
  const [chunk] = await once(child.stdout, 'data');
  return String(chunk).split('\n')[0] ?? '';
}

test('every agent of the list is a file', () => {
  expect(MISBEHAVING_AGENTS.filter((name) => !existsSync(misbehavingAgent(name)))).toEqual([]);
});

test('ignores-sigterm takes the signal and stays', async () => {
  const child = start('ignores-sigterm');
  expect(await firstLine(child)).toBe('ready');
  child.kill('SIGTERM');
  expect(await firstLine(child)).toBe('ignored SIGTERM');
  expect(child.exitCode).toBeNull();
});

test('forks-and-detaches leaves a process in a session of its own', async () => {
  const child = start('forks-and-detaches');
  const { detached }: { detached: number } = JSON.parse(await firstLine(child));
  strays.push(detached);
  if (child.exitCode === null) await once(child, 'exit');
  expect(existsSync(`/proc/${detached}`)).toBe(true);
});

test('holds-stdout exits while its pipe stays open', async () => {
  const child = start('holds-stdout');
  const { holder }: { holder: number } = JSON.parse(await firstLine(child));
  strays.push(holder);
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.stdout.readableEnded).toBe(false);
});

test('floods-stdout writes the requested amount', async () => {
  const child = start('floods-stdout', '3');
  let bytes = 0;
  child.stdout.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await once(child, 'close');
  expect(bytes).toBe(3 << 20);
});

test('never-ends-a-line writes no newline', async () => {
  const child = start('never-ends-a-line', '1');
  let text = '';
  for await (const chunk of child.stdout) {
    text += String(chunk);
    if (text.length >= 1 << 20) break;
  }
  expect(text.includes('\n')).toBe(false);
});

test('exits-zero-on-error fails on stderr alone', async () => {
  const child = start('exits-zero-on-error');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});

test('prints-forged-events prints a header and an ending, and exits 3', async () => {
  const child = start('prints-forged-events');
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  const [code] = await once(child, 'close');
  expect(code).toBe(3);
  expect(text).toContain('caisson/worker-events/1');
});

test('reads-stdin ends only when its stdin does', async () => {
  const child = start('reads-stdin');
  child.stdin.end('five!');
  expect(JSON.parse(await firstLine(child))).toEqual({ stdinBytes: 5 });
});

test('eats-memory holds what it took, up to its bound', async () => {
  const child = start('eats-memory', '16');
  expect(await firstLine(child)).toBe('holding 16 MiB');
});

test('fork-bomb is bounded', async () => {
  expect(await firstLine(start('fork-bomb', '3'))).toBe('asked for 3, refused so far 0');
});

test.each(['sleeps-forever', 'busy-loop'] as const)('%s says one word and does not end', async (name) => {
  const child = start(name);
  await firstLine(child);
  expect(child.exitCode).toBeNull();
});
