/** The sha256 of a program, remembered for as long as the file does not change: agent binaries are hundreds of MB. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { findProgram } from '../discovery/index.ts';
import type { KeyValues } from '../ledger/index.ts';

const SPACE = 'program-digest';
const CHUNK_BYTES = 1024 * 1024;

/** Null when there is no such file. */
export function digestProgram(kv: KeyValues, program: string, searchPath: string): string | null {
  const found = program === '' ? null : findProgram(program, searchPath, '/');
  if (found === null) return null;
  const path = realpathSync(found);
  const { size, mtimeMs, ino } = statSync(path);
  const key = `${path}:${size}:${mtimeMs}:${ino}`;
  const known = kv.get(SPACE, key);
  if (typeof known === 'string') return known;
  const digest = hashFile(path);
  kv.set(SPACE, key, digest);
  return digest;
}

function hashFile(path: string): string {
  const hash = createHash('sha256');
  const fd = openSync(path, 'r');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  try {
    for (let read = readSync(fd, chunk); read > 0; read = readSync(fd, chunk))
      hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(fd);
  }
  return hash.digest('hex');
}
