import { copyFile, stat, utimes } from 'node:fs/promises';

import { isErrno } from '../platform/index.ts';

const SMALLEST_INDEX = 12 + 20;

/** Copies an index with its file time, rounded down: git trusts only entries older than the index itself. */
export async function copyIndex(from: string, to: string): Promise<boolean> {
  try {
    if ((await stat(from)).size < SMALLEST_INDEX) return false; // a power cut lost its bytes
    await copyFile(from, to);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
  await keepIndexTime(from, to);
  return true;
}

/** Gives `to` the file time of `from`, rounded down. */
async function keepIndexTime(from: string, to: string): Promise<void> {
  const { mtimeMs } = await stat(from);
  const seconds = Math.floor(mtimeMs) / 1000;
  await utimes(to, seconds, seconds);
}
