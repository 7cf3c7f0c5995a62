import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hashFile } from './hash-file.ts';

function writeBytes(size: number): { file: string; digest: string } {
  const folder = mkdtempSync(join(tmpdir(), 'hash-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'program');
  const bytes = randomBytes(size);
  writeFileSync(file, bytes);
  return { file, digest: createHash('sha256').update(bytes).digest('hex') };
}

test.each([0, 5, 3 * 1024 * 1024, 5 * 1024 * 1024 + 1])(
  'a file of %i bytes is hashed whole',
  async (size) => {
    const { file, digest } = writeBytes(size);
    expect(await hashFile(file)).toBe(digest);
  },
);

test('a large file is hashed while the event loop is free', async () => {
  const { file, digest } = writeBytes(64 * 1024 * 1024);
  const before = process.threadCpuUsage();
  expect(await hashFile(file)).toBe(digest);
  const { user } = process.threadCpuUsage(before);
  const startedAt = process.threadCpuUsage();
  createHash('sha256')
    .update(Buffer.alloc(64 * 1024 * 1024))
    .digest();
  expect(user).toBeLessThan(process.threadCpuUsage(startedAt).user);
});

test('a file that is not there is an error', async () => {
  await expect(hashFile('/nonexistent/program')).rejects.toThrow('ENOENT');
});
