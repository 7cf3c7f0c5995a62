import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMemoryLedger } from '../ledger/index.ts';
import { createProgramDigests } from './digest-program.ts';

const SPACE = 'program-digest';
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

function openDigests() {
  const folder = mkdtempSync(join(tmpdir(), 'digest-program-'));
  const ledger = createMemoryLedger();
  onTestFinished(async () => {
    await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const program = join(folder, 'agent');
  const write = (text: string, to = program): void => {
    writeFileSync(to, text);
    chmodSync(to, 0o755);
  };
  return { ledger, folder, program, write, digests: createProgramDigests(ledger.kv) };
}

test('a program is read once, and again when it changed', async () => {
  const { ledger, program, write, digests } = openDigests();
  write('one');
  expect(await Promise.all([digests(program, ''), digests(program, '')])).toEqual(
    Array(2).fill(digestOf('one')),
  );
  const [known] = ledger.kv.list(SPACE);
  ledger.kv.set(SPACE, known?.key ?? '', 'remembered');
  expect(await digests(program, '')).toBe('remembered');
  write('two more');
  expect(await digests(program, '')).toBe(digestOf('two more'));
});

test('a program with the size and the time of the one that it replaced is read', async () => {
  const { folder, program, write, digests } = openDigests();
  const at = new Date('2026-01-01T00:00:00.000Z');
  write('one');
  utimesSync(program, at, at);
  expect(await digests(program, '')).toBe(digestOf('one'));
  const { ctimeMs } = statSync(program);
  // The same file: only the time of its change differs, as soon as the clock of the file system has moved.
  do {
    write('two');
    utimesSync(program, at, at);
  } while (statSync(program).ctimeMs === ctimeMs);
  expect(await digests(program, '')).toBe(digestOf('two'));
  write('six', join(folder, 'other'));
  utimesSync(join(folder, 'other'), at, at);
  renameSync(join(folder, 'other'), program);
  expect(await digests(program, '')).toBe(digestOf('six'));
});

test('a name is looked up in PATH, and one without a program has no digest', async () => {
  const { folder, write, digests } = openDigests();
  write('one');
  expect(await digests('agent', folder)).toBe(digestOf('one'));
  expect(await digests('missing', folder)).toBe(null);
  expect(await digests('', folder)).toBe(null);
});
