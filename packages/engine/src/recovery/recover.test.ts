import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Hosts } from '../hosts/index.ts';
import type { DispatchRooms } from '../admission/index.ts';
import { lockLedger } from '../ledger/fixtures/lock-ledger.ts';
import { openLedger } from '../ledger/index.ts';
import { recover } from './recover.ts';

test('while another process has the ledger locked, what a dead host left waits, and the event loop is free', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-recover-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ledger = openLedger(join(folder, 'ledger.db'));
  onTestFinished(() => ledger.close());
  ledger.leases.tryHold('a lease', 'host_dead', 'host_dead');
  ledger.leases.tryHold('recover:host_dead', 'host_dead_too', 'host_dead_too');
  const unlock = lockLedger(ledger.file ?? '');
  onTestFinished(unlock);
  let isRecovered = false;
  const recovered = recover({
    rooms: { ledger, hostId: 'host_own' } as unknown as DispatchRooms,
    hosts: { isAlive: async () => false, forget: () => undefined } as unknown as Hosts,
    announce: async () => undefined,
    repairRefs: async () => undefined,
    adopt: null,
    drives: () => false,
  }).finally(() => (isRecovered = true));
  for (let round = 0; round < 10; round += 1) await new Promise((resolve) => setTimeout(resolve, 25));
  expect(isRecovered).toBe(false);
  unlock();
  expect(await recovered).toMatchObject({ left: [], skipped: [] });
  expect(ledger.leases.hosts()).toEqual([]);
});
