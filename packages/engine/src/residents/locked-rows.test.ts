/** What residents write beside their events, while another process has the ledger locked: it waits, and holds no event loop. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { expect, onTestFinished, test } from 'vitest';
import { lockLedger } from '../ledger/fixtures/lock-ledger.ts';
import { openLedger } from '../ledger/index.ts';
import { DeliveryCursor } from './delivery-cursor.ts';
import { createRunListeners } from './run-listeners.ts';

test('what was delivered, and who listens, is written when the ledger is free again, with what came meanwhile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-rows-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ledger = openLedger(join(folder, 'ledger.db'), { blocksMs: 1000 }); // as a daemon opens it
  onTestFinished(() => ledger.close());
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const cursor = new DeliveryCursor({ clock: systemClock, ledger, warn }, 'signals');
  await ledger.whenFree(() => undefined); // its first row is behind that
  const unlock = lockLedger(ledger.file);
  onTestFinished(unlock);
  const startMs = performance.now();
  createRunListeners({ ledger, warn }).set([]);
  for (const offset of [1, 2, 3]) {
    cursor.begin(offset);
    cursor.end(offset);
  }
  cursor.begin(4);
  expect(performance.now() - startMs).toBeLessThan(500);
  expect(ledger.kv.get('resident-delivery', 'signals')).toBe(0);
  unlock();
  await ledger.whenFree(() => undefined);
  expect(ledger.kv.get('resident-delivery', 'signals')).toEqual({ highest: 4, open: [4] });
  expect(ledger.kv.list('resident-run-listeners')).toEqual([{ key: '*', value: 0 }]);
  expect(warnings).toEqual([]);
});
