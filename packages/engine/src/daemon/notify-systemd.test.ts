import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
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

/** Pid 0 would be the group of this test itself. */
function killSender(address: string, signal: NodeJS.Signals): void {
  const [sender] = findSenders(address);
  if (sender === undefined) throw new Error(`no program sends to ${address}`);
  process.kill(sender, signal);
}

const NO_NOTIFY = { perl: '/usr/bin/perl', notify: '/nowhere/systemd-notify' };

test('a program that sends notices and is killed is started again, and then sends what stands', async () => {
  const address = makeSocketPath();
  const received = await receiveNotices(address);
  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  const passed = { ms: 0 };
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed.ms);
  onTestFinished(() => clock.mockRestore());
  const notifier = await startSystemdNotifier({ NOTIFY_SOCKET: address }, warn, NO_NOTIFY);
  notifier.ready();
  await vi.waitFor(() => expect(received()).toEqual(['READY=1']), { timeout: 5000 });
  for (let kills = 1; kills <= 10; kills += 1) {
    killSender(address, 'SIGKILL');
    await vi.waitFor(() => expect(received()).toHaveLength(1 + 2 * kills), { timeout: 5000 });
    if (kills === 5) passed.ms += 600_000; // those before are forgotten
  }
  expect(received().slice(1)).toEqual(Array.from({ length: 10 }, () => ['READY=1', 'WATCHDOG=1']).flat());
  expect(warnings).toEqual([]);
  killSender(address, 'SIGKILL'); // again and again: that is reported
  await vi.waitFor(() => expect(warnings).toEqual([expect.stringContaining('killed too often')]), {
    timeout: 5000,
  });
  await notifier.stop();
  expect(findSenders(address)).toEqual([]);
}, 60_000);

test('a program that cannot be started again is reported with the reason', async () => {
  const address = makeSocketPath();
  await receiveNotices(address);
  const perl = `${address}-perl`;
  symlinkSync('/usr/bin/perl', perl);
  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  const notifier = await startSystemdNotifier({ NOTIFY_SOCKET: address }, warn, { ...NO_NOTIFY, perl });
  rmSync(perl);
  killSender(address, 'SIGKILL');
  await vi.waitFor(
    () => expect(warnings).toEqual([expect.stringMatching(/could not be started again: .*ENOENT/)]),
    {
      timeout: 5000,
    },
  );
  await notifier.stop();
});

test('a program that stands still keeps nobody from ending', async () => {
  const address = makeSocketPath();
  await receiveNotices(address);
  const notifier = await startSystemdNotifier({ NOTIFY_SOCKET: address }, () => undefined);
  onTestFinished(() => findSenders(address).forEach((pid) => process.kill(pid, 'SIGKILL')));
  killSender(address, 'SIGSTOP');
  notifier.stopping();
  await notifier.stop();
  expect(findSenders(address)).toEqual([]);
}, 20_000);
