import { closeSync, openSync, readSync } from 'node:fs';
import { isErrno } from '@caisson/ground';

const CHUNK_BYTES = 64 * 1024;

/** The next bytes of a file that grows; null when it does not exist (any more). */
export function readFrom(path: string, offset: number): Buffer | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    return buffer.subarray(0, readSync(file, buffer, 0, CHUNK_BYTES, offset));
  } finally {
    closeSync(file);
  }
}
