import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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

/** The programs that send to this address, and do not receive there. */
function findSenders(address: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return line.includes(address) && line.includes('STDIN');
    } catch {
      return false; // it has ended
    }
  });
}

test('a program that sends notices and is killed is started again, and then sends what stands', async () => {
  const address = makeSocketPath();
  const received = await receiveNotices(address);
  const warnings: string[] = [];
  const notifier = await startSystemdNotifier({ NOTIFY_SOCKET: address }, (text) => warnings.push(text));
  notifier.ready();
  await vi.waitFor(() => expect(received()).toEqual(['READY=1']), { timeout: 5000 });
  for (let kills = 1; kills <= 6; kills += 1) {
    const [sender = 0] = findSenders(address);
    process.kill(sender, 'SIGKILL');
    if (kills === 6) break; // it is killed again and again: that is reported, or another program does it
    await vi.waitFor(() => expect(received()).toHaveLength(1 + 2 * kills), { timeout: 5000 });
  }
  expect(received().slice(1)).toEqual(Array.from({ length: 5 }, () => ['READY=1', 'WATCHDOG=1']).flat());
  const hasOther = existsSync('/usr/bin/systemd-notify');
  await vi.waitUntil(() => (hasOther ? received().length > 11 : warnings.length > 0), { timeout: 5000 });
  if (!hasOther) expect(warnings).toEqual([expect.stringContaining('killed too often')]);
  await notifier.stop();
  expect(findSenders(address)).toEqual([]);
});

test('a program that stands still keeps nobody from ending', async () => {
  const address = makeSocketPath();
  await receiveNotices(address);
  const notifier = await startSystemdNotifier({ NOTIFY_SOCKET: address }, () => undefined);
  const [sender = 0] = findSenders(address);
  onTestFinished(() => findSenders(address).forEach((pid) => process.kill(pid, 'SIGKILL')));
  process.kill(sender, 'SIGSTOP');
  notifier.stopping();
  await notifier.stop();
  expect(findSenders(address)).toEqual([]);
}, 20_000);
