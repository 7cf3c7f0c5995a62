import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openLedger } from '../index.ts';
import { describeLedger } from '../ledger-conformance.ts';
import { openThreadLedger } from './thread-ledger-stage.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
let count = 0;
const nextFile = (): string => join(folder, `${(count += 1)}.db`);

describeLedger('the SQLite ledger', () => openLedger(nextFile()));
describeLedger('the SQLite ledger that its thread writes', () => openThreadLedger(nextFile()));

afterAll(() => rmSync(folder, { recursive: true, force: true }));
