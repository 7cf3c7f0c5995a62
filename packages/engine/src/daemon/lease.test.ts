import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DaemonIdentity } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { openLedger } from '../ledger/index.ts';
import { findLeaseHolder, identifyDaemon, releaseLease, takeLease, type LeaseRooms } from './lease.ts';

/** Two connections to one ledger, as two processes have them; `alive` hosts have their socket open. */
function openTwo(alive: readonly string[] = []): [LeaseRooms, LeaseRooms] {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-lease-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const open = (): LeaseRooms => {
    const ledger = openLedger(join(folder, 'ledger.db'));
    onTestFinished(() => ledger.close());
    return { ledger, isHostAlive: (hostId) => Promise.resolve(alive.includes(hostId)) };
  };
  return [open(), open()];
}

const us = (hostId: string): DaemonIdentity => identifyDaemon({ hostId, version: '1' });
const gone = (hostId: string): DaemonIdentity => ({ ...us(hostId), startTime: '1' });

test('the lease of a process that lives stays, and the other learns who it is', async () => {
  const [one, other] = openTwo();
  const first = us('host_1');
  expect(await takeLease(one, first)).toEqual(first);
  expect(await takeLease(other, us('host_2'))).toEqual(first);
  expect(await findLeaseHolder(other)).toEqual(first);
});

test.each([
  ['whose pid another process has now', (own: DaemonIdentity) => ({ ...own, startTime: '1' })],
  ['that is gone', (own: DaemonIdentity) => ({ ...own, pid: 2 ** 22 - 1 })],
  ['of another start of the machine', (own: DaemonIdentity) => ({ ...own, bootId: 'another' })],
])('the lease of a process %s is replaced', async (_what, change) => {
  const [one, other] = openTwo();
  await takeLease(one, change(us('host_1')));
  const next = us('host_2');
  expect(await findLeaseHolder(other)).toBeNull();
  expect(await takeLease(other, next)).toEqual(next);
});

test('a host whose socket is open is alive, whatever its pid says here', async () => {
  const [one, other] = openTwo(['host_1']);
  const first = gone('host_1');
  await takeLease(one, first);
  expect(await takeLease(other, us('host_2'))).toEqual(first);
});

test('of those that replace a stale lease at the same time exactly one wins', async () => {
  const [one, other] = openTwo();
  await takeLease(one, gone('host_0'));
  const [first, second] = await Promise.all([takeLease(one, us('host_1')), takeLease(other, us('host_2'))]);
  expect(first).toEqual(second);
});

test('only its holder releases it', async () => {
  const [one, other] = openTwo();
  const first = us('host_1');
  await takeLease(one, first);
  releaseLease(other, us('host_2'));
  expect(await findLeaseHolder(other)).toEqual(first);
  releaseLease(one, first);
  expect(await findLeaseHolder(other)).toBeNull();
});

test('a row that cannot be read belongs to nobody', async () => {
  const [one] = openTwo();
  one.ledger.kv.set('daemon', 'lease', { pid: 'x' });
  const own = us('host_1');
  expect(await takeLease(one, own)).toEqual(own);
});
