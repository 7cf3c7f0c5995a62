import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openLedger } from '../index.ts';
import { isLogAlone } from './log-alone.ts';

function ledgerFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'ledger.db');
}

test.each(['before the first look', 'between two looks'])(
  'a ledger that another process creates %s is not taken for a damaged one',
  async (moment) => {
    const file = ledgerFile();
    let looks = 0;
    const others: ReturnType<typeof openLedger>[] = [];
    const create = (): void => void others.push(openLedger(file));
    const exists = (path: string): boolean => {
      looks += 1;
      if (looks === 1 && moment === 'before the first look') create();
      const found = existsSync(path);
      if (looks === 1 && moment === 'between two looks') create();
      return found;
    };
    expect(isLogAlone(file, exists)).toBe(false);
    for (const opened of others) await opened.close();
    expect(others.length).toBe(1);
  },
);

test('a log without its file is reported as damage', () => {
  const file = ledgerFile();
  expect(isLogAlone(file)).toBe(false);
  writeFileSync(`${file}-wal`, '');
  expect(isLogAlone(file)).toBe(true);
  expect(() => openLedger(file)).toThrow('its write-ahead log is still there');
});
