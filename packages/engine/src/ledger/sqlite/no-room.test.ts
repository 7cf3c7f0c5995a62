// Real file systems that are full or read-only. Mounting needs root; without it the same limits are reached by
// folder permissions (read-only), and the full disk by a file size limit is no substitute, so that part says why not.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fact } from '../fixtures/sample-events.ts';
import { LedgerFullError, LedgerUnwritableError, openLedger } from '../index.ts';

const canMount = tryMount();
if (!canMount)
  process.stderr.write('A ledger on a full or read-only disk is not tested: mounting a tmpfs needs root.\n');

describe.runIf(canMount)('a ledger on a small tmpfs', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caisson-small-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
  });
  afterEach(() => {
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true, force: true });
  });

  test('says that the disk is full, keeps what it acknowledged, and goes on once there is room', async () => {
    const file = join(folder, 'ledger.db');
    const ballast = join(folder, 'ballast');
    writeFileSync(ballast, Buffer.alloc(128 * 1024));
    const ledger = openLedger(file);
    const acknowledged: string[] = [];
    const error = await appendUntilRefused(async (index) => {
      const [stored] = await ledger.append([fact('run_a', { index, padding: 'x'.repeat(4_000) })]);
      acknowledged.push(stored?.id ?? '');
    });
    expect(error).toBeInstanceOf(LedgerFullError);
    expect(String(error)).toContain(file);
    expect(ledger.read().map((event) => event.id)).toEqual(acknowledged);
    expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    rmSync(ballast);
    await ledger.append([fact('run_a')]);
    await ledger.close();
  });

  test('a call that is too large does not take the small ones beside it down', async () => {
    const ledger = openLedger(join(folder, 'ledger.db'));
    const settled = await Promise.allSettled([
      ledger.append([fact('run_a', { call: 1 })]),
      ledger.append([fact('run_a', { padding: 'x'.repeat(2 * 1024 * 1024) })]),
      ledger.append([fact('run_a', { call: 3 })]),
    ]);
    expect(settled.map((call) => call.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(settled[1]).toMatchObject({ reason: { code: 'LEDGER_FULL' } });
    await ledger.close();
  });

  test('on a disk without a free byte an old ledger can still be opened and read', async () => {
    const file = join(folder, 'ledger.db');
    const first = openLedger(file);
    await first.append([fact('run_a'), fact('run_b')]);
    await first.close();
    fill(folder);
    const ledger = openLedger(file);
    expect(ledger.read().length).toBe(2);
    await expect(ledger.append([fact('run_a')])).rejects.toThrow(LedgerFullError);
    expect(ledger.read().length).toBe(2);
    await ledger.close();
  });

  test('on a disk without a free byte a new ledger is refused without a trace', () => {
    fill(folder);
    expect(() => openLedger(join(folder, 'ledger.db'))).toThrow(LedgerFullError);
    expect(execFileSync('ls', ['-A', folder], { encoding: 'utf8' })).toBe('ballast\n');
  });

  test('in a read-only folder it is refused by name, new or old', async () => {
    const file = join(folder, 'ledger.db');
    const first = openLedger(file);
    await first.append([fact('run_a')]);
    await first.close();
    const before = readFileSync(file);
    execFileSync('mount', ['-o', 'remount,ro', folder]);
    try {
      expect(() => openLedger(file)).toThrow(LedgerUnwritableError);
      expect(() => openLedger(join(folder, 'other.db'))).toThrow(LedgerUnwritableError);
      expect(() => openLedger(join(folder, 'deeper', 'other.db'))).toThrow(LedgerUnwritableError);
      expect(readFileSync(file)).toEqual(before);
    } finally {
      execFileSync('mount', ['-o', 'remount,rw', folder]);
    }
  });
});

describe('a ledger where no file can be', () => {
  test('is refused by name', () => {
    const folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
    writeFileSync(join(folder, 'plain'), '');
    expect(() => openLedger(join(folder, 'plain', 'ledger.db'))).toThrow(LedgerUnwritableError);
    rmSync(folder, { recursive: true, force: true });
  });
});

async function appendUntilRefused(append: (index: number) => Promise<void>): Promise<unknown> {
  for (let index = 0; index < 10_000; index += 1) {
    try {
      await append(index);
    } catch (error) {
      return error;
    }
  }
  throw new Error('the disk never got full');
}

function fill(folder: string): void {
  for (const size of [256 * 1024, 4_096, 1]) {
    try {
      for (;;) writeFileSync(join(folder, 'ballast'), Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
  }
}

function tryMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder], { stdio: 'ignore' });
    return true;
  } catch {
    process.emitWarning(
      'a tmpfs cannot be mounted here (not root), so the full and the read-only disk are not tried',
    );
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
