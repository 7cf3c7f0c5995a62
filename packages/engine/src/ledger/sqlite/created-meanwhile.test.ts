import { mkdtempSync, rmSync } from 'node:fs';
import type * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { fact } from '../fixtures/sample-events.ts';
import { openLedger } from '../index.ts';

// The moment between two looks at the folder is too short to be hit by chance; here another creator always hits it.
const moment = vi.hoisted(() => ({ afterMissing: (_file: string) => {} }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const existsSync = (file: string): boolean => {
    const found = real.existsSync(file);
    if (!found) moment.afterMissing(file);
    return found;
  };
  return { ...real, existsSync };
});

test('a ledger that another process creates between two looks is not taken for a damaged one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
  const file = join(folder, 'ledger.db');
  const others: ReturnType<typeof openLedger>[] = [];
  moment.afterMissing = (missing) => {
    if (missing !== file) return;
    moment.afterMissing = () => {};
    others.push(openLedger(file));
  };
  const ledger = openLedger(file);
  expect(others.length).toBe(1);
  await others[0]?.append([fact(null)]);
  expect(ledger.lastOffset()).toBe(1);
  for (const opened of [ledger, ...others]) await opened.close();
  rmSync(folder, { recursive: true });
});
