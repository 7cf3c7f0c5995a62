import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLocalHosts } from './index.ts';
import { HostUnreachableError } from './errors.ts';
import type { FollowHost, HostOrder } from './contract.ts';

function createStateDir(...below: string[]): string {
  const base = mkdtempSync(join(tmpdir(), 'caisson-hosts-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const stateDir = join(base, ...below);
  mkdirSync(stateDir, { recursive: true });
  return stateDir;
}

const NOTHING: FollowHost = async function* () {};

const socketOf = (stateDir: string, hostId: string) => join(stateDir, 'runtime', 'hosts', `${hostId}.sock`);

test('a host listens while it lives, for its user only, and takes orders', async () => {
  const stateDir = createStateDir();
  const hosts = createLocalHosts(stateDir);
  const received: HostOrder[] = [];
  const post = await hosts.open(
    'host_a',
    async (order) => {
      received.push(order);
      return { ok: true, value: 7 };
    },
    NOTHING,
  );
  expect(statSync(socketOf(stateDir, 'host_a')).mode & 0o777).toBe(0o600);
  expect(await hosts.isAlive('host_a')).toBe(true);
  const order: HostOrder = { kind: 'cancel', runId: 'run_x', force: true };
  expect(await hosts.order('host_a', order)).toEqual({ ok: true, value: 7 });
  expect(received).toEqual([order]);
  expect(hosts.list(0)).toEqual(['host_a']);
  expect(hosts.list(60_000)).toEqual([]);
  await post.stop();
  expect(await hosts.isAlive('host_a')).toBe(false);
  expect(hosts.list(0)).toEqual([]);
  await expect(hosts.order('host_a', order)).rejects.toThrow(HostUnreachableError);
});

test('an order with a limit of its own does not wait longer for a host that does not answer', async () => {
  const hosts = createLocalHosts(createStateDir());
  const answer = Promise.withResolvers<{ ok: true }>();
  const post = await hosts.open('host_a', () => answer.promise, NOTHING);
  const order: HostOrder = { kind: 'state', runs: ['run_x'] };
  const begun = performance.now();
  await expect(hosts.order('host_a', order, { limitMs: 100 })).rejects.toThrow(HostUnreachableError);
  expect(performance.now() - begun).toBeLessThan(5000);
  answer.resolve({ ok: true });
  expect(await hosts.order('host_a', order)).toEqual({ ok: true });
  await post.stop();
});

test('a host whose socket or folder was removed makes it again, and takes orders there', async () => {
  const stateDir = createStateDir();
  const hosts = createLocalHosts(stateDir);
  const post = await hosts.open('host_a', async () => ({ ok: true }), NOTHING);
  const folder = join(stateDir, 'runtime', 'hosts');
  for (const remove of [
    () => rmSync(socketOf(stateDir, 'host_a')),
    () => rmSync(folder, { recursive: true }),
  ]) {
    remove();
    await post.check();
    expect(await hosts.order('host_a', { kind: 'ping' })).toEqual({ ok: true });
  }
  expect(readdirSync(folder)).toContain('host_a.reserve-a');
  await post.stop();
  expect(readdirSync(folder)).toEqual([]);
});

test('a host that is known to live is alive without its socket', async () => {
  const hosts = createLocalHosts(createStateDir(), (hostId) => hostId === 'host_a');
  expect([await hosts.isAlive('host_a'), await hosts.isAlive('host_b')]).toEqual([true, false]);
});

test('the end of a host waits for no connection that brings no order, or takes no answer', async () => {
  const stateDir = createStateDir();
  const hosts = createLocalHosts(stateDir);
  const post = await hosts.open('host_a', async () => ({ ok: true }), NOTHING);
  const open = ['', '{"kind":"ping"}\n'].map((line) => {
    const socket = connect({ path: socketOf(stateDir, 'host_a'), allowHalfOpen: true });
    socket.write(line);
    return socket;
  });
  onTestFinished(() => open.forEach((socket) => socket.destroy()));
  await Promise.all(open.map((socket) => once(socket, 'connect')));
  const [answer] = (await once(open[1] as Socket, 'data')) as [Buffer];
  expect(answer.toString()).toBe('{"ok":true}\n');
  await post.stop();
});

test('what else the process writes meanwhile keeps its rights', async () => {
  const stateDir = createStateDir();
  const opening = createLocalHosts(stateDir).open('host_a', async () => ({ ok: true }), NOTHING);
  const folder = join(stateDir, 'beside');
  mkdirSync(folder);
  expect(statSync(folder).mode & 0o700).toBe(0o700);
  await (await opening).stop();
});

test('an order that fails, or is none, is answered', async () => {
  const stateDir = createStateDir();
  const hosts = createLocalHosts(stateDir);
  const post = await hosts.open(
    'host_a',
    async ({ kind }) => {
      throw new Error(`no ${kind} today`);
    },
    NOTHING,
  );
  expect(await hosts.order('host_a', { kind: 'ping' })).toEqual({ ok: false, message: 'no ping today' });
  const tooMany = JSON.stringify({ kind: 'follow', runs: Array.from({ length: 1001 }, () => 'run_x') });
  for (const line of ['{"kind":', '{"kind":"obey"}', '{"kind":"cancel","runId":7}', 'null', tooMany]) {
    const socket = connect(socketOf(stateDir, 'host_a'));
    socket.write(`${line}\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(JSON.parse(answer.toString())).toEqual({ ok: false, message: 'this is not an order' });
  }
  await post.stop();
});

test('paths of any length work', async () => {
  const hosts = createLocalHosts(createStateDir('deep'.repeat(40), 'deeper'.repeat(30)));
  const post = await hosts.open('host_a', async () => ({ ok: true }), NOTHING);
  expect(await hosts.isAlive('host_a')).toBe(true);
  expect(await hosts.order('host_a', { kind: 'ping' })).toEqual({ ok: true });
  await post.stop();
});

test('a killed host is dead, a stopped one is not, and what a dead one left is taken away', async () => {
  const stateDir = createStateDir();
  const hosts = createLocalHosts(stateDir);
  const program = `import { createLocalHosts } from './index.ts';
    await createLocalHosts(${JSON.stringify(stateDir)}).open('host_b', async () => ({ ok: true }), async function* () {});
    console.log('open'); setInterval(() => undefined, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  expect(await hosts.isAlive('host_b')).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await hosts.isAlive('host_b')).toBe(false);
  hosts.forget('host_b');
  expect(hosts.list(0)).toEqual([]);
});

test('a host whose reserve could not be given back is still found', async () => {
  const stateDir = createStateDir();
  const hosts = createLocalHosts(stateDir);
  const folder = join(stateDir, 'runtime', 'hosts');
  mkdirSync(join(folder, 'host_d.reserve-a'), { recursive: true }); // a folder: it cannot be unlinked
  writeFileSync(socketOf(stateDir, 'host_d'), '');
  utimesSync(socketOf(stateDir, 'host_d'), 1, 1); // old enough, whatever the grain of the clocks
  expect(() => hosts.forget('host_d')).toThrow();
  expect(hosts.list(0)).toEqual(['host_d']);
});

test('a host of which there is no trace is dead, and so is one with a plain file for a socket', async () => {
  const stateDir = createStateDir();
  const hosts = createLocalHosts(stateDir);
  expect(await hosts.isAlive('host_c')).toBe(false);
  mkdirSync(join(stateDir, 'runtime', 'hosts'), { recursive: true });
  writeFileSync(socketOf(stateDir, 'host_c'), '');
  expect(await hosts.isAlive('host_c')).toBe(false);
  expect(readdirSync(join(stateDir, 'runtime', 'hosts'))).toEqual(['host_c.sock']);
});
