import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startSystemdNotifier } from './notify-systemd.ts';

/** Prints each datagram it receives, as systemd would read it. */
const RECEIVER = `use Socket; $| = 1; my $at = shift; $at =~ s/^\\@/\\0/;
socket(my $s, AF_UNIX, SOCK_DGRAM, 0); bind($s, pack_sockaddr_un($at)) or die; print "up\\n";
while (defined recv($s, my $got, 4096, 0)) { $got =~ tr/\\n/|/; print "$got\\n" }`;

async function receive(address: string): Promise<() => string[]> {
  const receiver = spawn('perl', ['-e', RECEIVER, address], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void receiver.kill('SIGKILL'));
  let text = '';
  receiver.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(receiver.stdout, 'data');
  return () => text.split('\n').slice(1, -1);
}

function makeSocketPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-notify-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'notify');
}

test.each([
  ['in a folder', makeSocketPath],
  ['in the abstract namespace', () => `@caisson-test-${process.pid}`],
])('notices reach the socket of systemd %s, in order', async (_where, makeAddress) => {
  const address = makeAddress();
  const received = await receive(address);
  const env = { NOTIFY_SOCKET: address, WATCHDOG_USEC: '4000000', WATCHDOG_PID: String(process.pid) };
  const notifier = await startSystemdNotifier(env, () => undefined);
  expect(notifier.aliveEveryMs).toBe(2000);
  notifier.ready();
  notifier.reloading();
  notifier.alive();
  notifier.stopping();
  await notifier.stop();
  await vi.waitFor(() => expect(received()).toHaveLength(4), { timeout: 5000 });
  const [ready, reloading, ...rest] = received();
  expect([ready, rest]).toEqual(['READY=1', ['WATCHDOG=1', 'STOPPING=1']]);
  const [, usec = ''] = /^RELOADING=1\|MONOTONIC_USEC=(\d+)$/.exec(reloading ?? '') ?? [];
  expect(Number(process.hrtime.bigint() / 1000n) - Number(usec)).toBeLessThan(60_000_000);
});

test('without a socket nothing is sent, and a watchdog of another process is not ours', async () => {
  const env = { WATCHDOG_USEC: '4000000', WATCHDOG_PID: '1' };
  const notifier = await startSystemdNotifier(env, () => undefined);
  expect(notifier.aliveEveryMs).toBeNull();
  notifier.ready();
  await notifier.stop();
});
