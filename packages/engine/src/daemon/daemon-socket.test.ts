import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isListening } from '@caisson/ground';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDaemonSocket, SOCKET_NAME, type DaemonSocketOptions } from './daemon-socket.ts';

function makeFolder(...below: string[]): string {
  const base = mkdtempSync(join(tmpdir(), 'caisson-daemon-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  return join(base, ...below);
}

async function open(folder: string, options: Partial<DaemonSocketOptions> = {}) {
  const warnings: string[] = [];
  const socket = await openDaemonSocket({
    folder,
    accept: (connection) => void connection.end(),
    isInPlace: () => true,
    warn: (message) => void warnings.push(message),
    ...options,
  });
  onTestFinished(() => socket.close());
  return { socket, warnings };
}

test('it is there for this user alone, at the end of any path, and gone when it is closed', async () => {
  const folder = makeFolder('deep'.repeat(40), 'deeper'.repeat(30));
  const { socket } = await open(folder);
  expect(socket.path).toBe(join(folder, SOCKET_NAME));
  expect(statSync(socket.path).mode & 0o777).toBe(0o600);
  expect(await isListening(folder, SOCKET_NAME)).toBe(true);
  await socket.close();
  expect(existsSync(socket.path)).toBe(false);
});

test('what a dead process left there is replaced', async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, SOCKET_NAME), '');
  await open(folder);
  expect(await isListening(folder, SOCKET_NAME)).toBe(true);
});

test.each([
  ['the socket', (folder: string) => unlinkSync(join(folder, SOCKET_NAME))],
  ['its folder', (folder: string) => rmSync(folder, { recursive: true })],
])('%s that was removed is made again', async (_what, remove) => {
  const folder = makeFolder('runtime');
  const { socket, warnings } = await open(folder);
  remove(folder);
  await socket.check();
  expect(await isListening(folder, SOCKET_NAME)).toBe(true);
  expect(warnings).toEqual(['the socket was removed and is made again']);
});

test('a removed socket is noticed by itself', async () => {
  const folder = makeFolder('runtime');
  await open(folder);
  unlinkSync(join(folder, SOCKET_NAME));
  await vi.waitFor(async () => expect(await isListening(folder, SOCKET_NAME)).toBe(true), { timeout: 5000 });
});

test('nothing is made at a path that belongs to another project now', async () => {
  const folder = makeFolder('runtime');
  const { socket } = await open(folder, { isInPlace: () => false });
  const moved = `${folder}-moved`;
  renameSync(folder, moved);
  mkdirSync(folder);
  await socket.check();
  expect(existsSync(join(folder, SOCKET_NAME))).toBe(false);
  expect(await isListening(moved, SOCKET_NAME)).toBe(true);
  await socket.close();
  expect(existsSync(join(moved, SOCKET_NAME))).toBe(false);
});

test('one that was replaced leaves the socket of its successor, while it waits and when it is closed', async () => {
  const folder = makeFolder('runtime');
  const { socket: replaced } = await open(folder, { isInPlace: () => false });
  const { socket } = await open(folder);
  const inode = (): bigint => statSync(socket.path, { bigint: true }).ino;
  const before = inode();
  await replaced.check();
  await replaced.close();
  expect([inode(), await isListening(folder, SOCKET_NAME)]).toEqual([before, true]);
});
