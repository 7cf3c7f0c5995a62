import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { receiveNotices } from './fixtures/receive-notices.ts';
import { startSystemdNotifier } from './notify-systemd.ts';

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
  const received = await receiveNotices(address);
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
