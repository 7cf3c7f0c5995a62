import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import {
  FileTooLargeError,
  NotARegularFileError,
  publishFile,
  readFileCapped,
  writeFileAtomic,
  writeFileAtomicSync,
  writeNewFileSync,
} from './atomic-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'caisson-atomic-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe.each([
  ['writeFileAtomic', writeFileAtomic],
  [
    'writeFileAtomicSync',
    async (...args: Parameters<typeof writeFileAtomic>) => writeFileAtomicSync(...args),
  ],
] as const)('%s', (_name, write) => {
  test('replaces the content and leaves no temporary file', async () => {
    const path = join(folder, 'x');
    await writeFile(path, 'old');
    await write(path, Buffer.from([1, 0, 255]));
    expect(await readFile(path)).toEqual(Buffer.from([1, 0, 255]));
    expect(await readdir(folder)).toEqual(['x']);
  });

  test('gives the file exactly the mode asked for, 0600 without a wish', async () => {
    await write(join(folder, 'private'), 'x');
    await write(join(folder, 'open'), 'x', { mode: 0o777, durable: false });
    expect((await stat(join(folder, 'private'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'open'))).mode & 0o777).toBe(0o777);
  });

  test('keeps the old state and cleans up when the target cannot be replaced', async () => {
    const path = join(folder, 'taken');
    await mkdir(path);
    await expect(write(path, 'x')).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['taken']);
  });

  test('accepts a file name as long as the file system allows', async () => {
    const path = join(folder, 'n'.repeat(255));
    await write(path, 'x');
    expect(await readFile(path, 'utf8')).toBe('x');
  });
});

test('a new file is written once, whole, and never over another', async () => {
  const path = join(folder, 'x');
  expect([writeNewFileSync(path, 'first'), writeNewFileSync(path, 'second')]).toEqual([true, false]);
  expect(await readFile(path, 'utf8')).toBe('first');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['x']);
  expect(() => writeNewFileSync(join(folder, 'none', 'x'), 'x')).toThrow('ENOENT');
});

test('a draft replaces what has its name, and a link is no draft', async () => {
  const [draft, path] = [join(folder, 'draft'), join(folder, 'x')];
  await writeFile(path, 'old');
  await writeFile(draft, 'new');
  await publishFile(draft, path);
  expect([await readFile(path, 'utf8'), await readdir(folder)]).toEqual(['new', ['x']]);
  await symlink('x', draft);
  await expect(publishFile(draft, path)).rejects.toThrow('ELOOP');
});

test('many writers at once leave one whole content', async () => {
  const path = join(folder, 'x');
  const contents = Array.from({ length: 20 }, (_, i) => String.fromCharCode(97 + i).repeat(50_000));
  await Promise.all(contents.map((content) => writeFileAtomic(path, content, { durable: false })));
  expect(contents).toContain(await readFile(path, 'utf8'));
  expect(await readdir(folder)).toEqual(['x']);
});

test('a file of exactly the cap is read, one byte more is refused', async () => {
  const path = join(folder, 'x');
  await writeFile(path, 'abcd');
  expect((await readFileCapped(path, 4)).toString()).toBe('abcd');
  await expect(readFileCapped(path, 3)).rejects.toThrow(FileTooLargeError);
});

test('an empty file and a cap of zero are fine', async () => {
  await writeFile(join(folder, 'x'), '');
  expect((await readFileCapped(join(folder, 'x'), 0)).length).toBe(0);
});

test('a file that claims size zero is read by what it yields', async () => {
  expect((await readFileCapped('/proc/self/stat', 65_536)).length).toBeGreaterThan(0);
  await expect(readFileCapped('/proc/self/stat', 5)).rejects.toThrow(FileTooLargeError);
});

test('a named pipe in the place of a file is refused without blocking', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  await expect(readFileCapped(path, 10)).rejects.toThrow(NotARegularFileError);
});

test('a symbolic link is followed, or refused when asked', async () => {
  await writeFile(join(folder, 'x'), 'abc');
  await symlink('x', join(folder, 'link'));
  expect((await readFileCapped(join(folder, 'link'), 10)).toString()).toBe('abc');
  await expect(readFileCapped(join(folder, 'link'), 10, { noFollow: true })).rejects.toThrow('ELOOP');
});

test('a missing file rejects with its errno code', async () => {
  await expect(readFileCapped(join(folder, 'none'), 10)).rejects.toMatchObject({ code: 'ENOENT' });
});
