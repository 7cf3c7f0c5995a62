import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { describeProgram, resolveProgramMemory } from '../discovery/index.ts';
import { createProgramDigests } from './digest-program.ts';

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A program that is large enough to be remembered. */
const large = (text: string): string => text.padEnd(4 * 1024 * 1024);

function openDigests() {
  const folder = mkdtempSync(join(tmpdir(), 'digest-program-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, 'agent');
  const write = (text: string, to = program): void => {
    writeFileSync(to, text);
    chmodSync(to, 0o755);
  };
  const open = () => createProgramDigests(resolveProgramMemory(folder, 'program-digests.json'));
  const digests = open();
  /** The digest of the program as it is now. */
  const digestNow = async (name: string, searchPath = ''): Promise<string | null> =>
    digests.find(name, searchPath, (await describeProgram(name, searchPath))?.state ?? '');
  return { folder, program, write, open, digests, digestNow };
}

test('a large program is read once, for all projects of its user, and again when it changed', async () => {
  const { folder, program, write, open, digestNow } = openDigests();
  write(large('one'));
  expect(await Promise.all([digestNow(program), digestNow(program)])).toEqual(
    Array(2).fill(digestOf(large('one'))),
  );
  const { state } = (await describeProgram(program, '')) ?? {};
  const memory = resolveProgramMemory(folder, 'program-digests.json');
  expect(memory.recall(program, state ?? '')).toBe(digestOf(large('one')));
  memory.remember(program, state ?? '', 'remembered');
  expect(await open().find(program, '', state ?? '')).toBe('remembered');
  write(large('two more'));
  expect(await digestNow(program)).toBe(digestOf(large('two more')));
});

test('of a program that was started the digest is there before it is asked for', async () => {
  const { folder, program, write, digests } = openDigests();
  write(large('one'));
  const file = await describeProgram(program, '');
  if (file === null) throw new Error('there is no program');
  digests.warm(file);
  const memory = resolveProgramMemory(folder, 'program-digests.json');
  await vi.waitFor(() => expect(memory.recall(program, file.state)).toBe(digestOf(large('one'))));
});

test('a memory that cannot be read fails who asks for the digest, and no one later', async () => {
  const { program, write } = openDigests();
  write(large('one'));
  const file = await describeProgram(program, '');
  if (file === null) throw new Error('there is no program');
  let isBroken = true;
  const recall = (): string | null => {
    if (isBroken) throw new Error('EACCES');
    return null;
  };
  const digests = createProgramDigests({ recall, remember: () => undefined });
  const floating: unknown[] = [];
  const note = (error: unknown): void => void floating.push(error);
  process.prependListener('unhandledRejection', note);
  onTestFinished(() => void process.removeListener('unhandledRejection', note));
  digests.warm(file);
  await expect(digests.find(program, '', file.state)).rejects.toThrow('EACCES');
  isBroken = false;
  expect(await digests.find(program, '', file.state)).toBe(digestOf(large('one')));
  expect(floating).toEqual([]);
});

test('a small program is read each time: it may have changed without a new time', async () => {
  const { folder, program, write, digests } = openDigests();
  write('one');
  const { state = '' } = (await describeProgram(program, '')) ?? {};
  resolveProgramMemory(folder, 'program-digests.json').remember(program, state, 'remembered');
  expect(await digests.find(program, '', state)).toBe(digestOf('one'));
});

test('a program with the size and the time of the one that it replaced is read', async () => {
  const { folder, program, write, digestNow } = openDigests();
  const at = new Date('2026-01-01T00:00:00.000Z');
  write('one');
  utimesSync(program, at, at);
  expect(await digestNow(program)).toBe(digestOf('one'));
  const { ctimeMs } = statSync(program);
  // The same file: only the time of its change differs, as soon as the clock of the file system has moved.
  do {
    write('two');
    utimesSync(program, at, at);
  } while (statSync(program).ctimeMs === ctimeMs);
  expect(await digestNow(program)).toBe(digestOf('two'));
  write('six', join(folder, 'other'));
  utimesSync(join(folder, 'other'), at, at);
  renameSync(join(folder, 'other'), program);
  expect(await digestNow(program)).toBe(digestOf('six'));
});

test('a name is looked up in PATH, and one without a program has no digest', async () => {
  const { folder, write, digestNow } = openDigests();
  write('one');
  expect(await digestNow('agent', folder)).toBe(digestOf('one'));
  expect(await digestNow('missing', folder)).toBe(null);
  expect(await digestNow('', folder)).toBe(null);
});

test('a program that was updated since then has no digest: neither that of the new one nor the remembered one', async () => {
  const { program, write, digests, digestNow } = openDigests();
  write('the one that ran');
  const launched = (await describeProgram(program, ''))?.state ?? '';
  expect(await digests.find(program, '', launched)).toBe(digestOf('the one that ran'));
  write('its update');
  expect(await digests.find(program, '', launched)).toBe(null);
  expect(await digestNow(program)).toBe(digestOf('its update'));
});

test('a program that is updated while it is read has no digest', async () => {
  const { program, write, digests } = openDigests();
  write('x'.repeat(8 * 1024 * 1024));
  const state = (await describeProgram(program, ''))?.state ?? '';
  const asked = digests.find(program, '', state);
  setImmediate(() => write('its update'));
  expect(await asked).toBe(null);
});
