import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openLedger } from '../index.ts';
import { describeLedger } from '../ledger-conformance.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
let count = 0;

describeLedger('the SQLite ledger', () => {
  count += 1;
  return openLedger(join(folder, `${count}.db`));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));
