import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { accepted, AT } from '../fixtures/sample-events.ts';
import { openLedger } from '../index.ts';

const QUEUED = 10_000;
/** Reading and sorting the rows took 14 ms, counting them one by one another. */
const MOST_MS = 5;

test('the place and the length of a queue of 10,000 runs are counted by the index', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-queue-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { append, leases, close } = openLedger(join(folder, 'ledger.db'));
  const ids = Array.from({ length: QUEUED }, (_, index) => `run_${String(index).padStart(5, '0')}`);
  await append(ids.map((runId) => accepted(runId, { pool: 'p' })));
  const nowMs = Date.parse(AT);
  const look = (): number[] => [leases.positionOf('p', ids.at(-1) ?? '', nowMs), leases.queueLength('p')];
  expect(look()).toEqual([QUEUED, QUEUED]);
  const before = process.cpuUsage();
  for (let count = 0; count < 50; count += 1) look();
  const { user, system } = process.cpuUsage(before);
  await close();
  expect((user + system) / 1000 / 50).toBeLessThan(MOST_MS);
}, 60_000);
