import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const INSIDE = fileURLToPath(new URL('./inside.pl', import.meta.url));
const SHIM = fileURLToPath(new URL('./tool-shim.ts', import.meta.url));

async function connectProgram(program: readonly [string, string]) {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-mcp-'));
  const path = join(folder, 'tools.sock');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const { dev, ino } = statSync(path, { bigint: true });
  const child = spawn(program[0], [program[1], 'mcp', path, `${process.pid}:${dev}:${ino}`]);
  const [socket] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    socket.destroy();
    server.close();
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  return { child, socket };
}

// Agent programs end their servers so, and wait until the streams are closed.
test.each([
  ['perl', 'SIGTERM', ['/usr/bin/perl', INSIDE]],
  ['perl', 'SIGINT', ['/usr/bin/perl', INSIDE]],
  ['perl', 'SIGKILL', ['/usr/bin/perl', INSIDE]],
  ['node', 'SIGTERM', [process.execPath, SHIM]],
] as const)('the streams of the %s server are closed at once after %s', async (_by, signal, program) => {
  const { child, socket } = await connectProgram(program);
  child.stdin.write('asked\n');
  expect(String(await once(socket, 'data'))).toBe('asked\n');
  socket.write('answered\n');
  expect(String(await once(child.stdout, 'data'))).toBe('answered\n');
  const closed = once(child, 'close', { signal: AbortSignal.timeout(10_000) });
  child.kill(signal);
  await closed;
});

test('the server ends with its socket', async () => {
  const { child, socket } = await connectProgram(['/usr/bin/perl', INSIDE]);
  const closed = once(child, 'close', { signal: AbortSignal.timeout(10_000) });
  socket.destroy();
  await closed;
});
