import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { LockTimeoutError, withFileLock } from './file-lock.ts';

let folder: string;
let lock: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'file-lock-'));
  lock = join(folder, 'lock');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

test('calls of one process follow each other in order, and only one of them competes for the file', async () => {
  const order: number[] = [];
  const filesInside: number[] = [];
  const work = (name: number) => async (): Promise<void> => {
    await Promise.resolve();
    order.push(name);
    filesInside.push(readdirSync(folder).length);
  };
  await Promise.all([1, 2, 3, 4, 5].map((name) => withFileLock(lock, work(name))));
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(filesInside).toEqual([2, 2, 2, 2, 2]); // the lock and its holder's own file
  expect(readdirSync(folder)).toEqual([]);
});

test('a call that waits too long or is aborted leaves, and those behind it still get their turn', async () => {
  const inside = Promise.withResolvers<void>();
  const first = withFileLock(lock, () => inside.promise);
  const abort = new AbortController();
  const late = withFileLock(lock, () => 'late', { waitMs: 20 });
  const aborted = withFileLock(lock, () => 'aborted', { signal: abort.signal });
  const last = withFileLock(lock, () => 'last');
  abort.abort(new Error('not any more'));
  await Promise.all([
    expect(aborted).rejects.toThrow('not any more'),
    expect(late).rejects.toBeInstanceOf(LockTimeoutError),
  ]);
  inside.resolve();
  await first;
  expect(await last).toBe('last');
});

test('work that fails frees the lock for the next', async () => {
  await expect(withFileLock(lock, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await withFileLock(lock, () => 'inside')).toBe('inside');
});
