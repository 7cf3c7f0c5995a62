import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '@caisson/ground';

/** Content that the host copies at settle, each file named by its sha256. */
export interface Captures {
  put(bytes: Buffer | string): string;
  /** Copies a file whose digest is already known. */
  putFile(path: string, digest: string): void;
}

/** Most commands print nothing on one of their streams, or on both: then nothing is hashed. */
const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
/** Up to here it is faster in JavaScript that was never called before than with `node:crypto`, which takes 4 ms to load. */
const SHORT_BYTES = 512;

export function openCaptures(folder: string): Captures {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    put(bytes) {
      const digest = digestOf(typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
      const target = join(folder, digest);
      if (!existsSync(target)) {
        writeFileSync(`${target}.part`, bytes, { mode: 0o600 });
        renameSync(`${target}.part`, target);
      }
      return digest;
    },
    putFile(path, digest) {
      const target = join(folder, digest);
      if (existsSync(target)) return;
      copyFileSync(path, `${target}.part`);
      renameSync(`${target}.part`, target);
    },
  };
}

function digestOf(bytes: Buffer): string {
  if (bytes.length === 0) return SHA256_OF_NOTHING;
  return bytes.length > SHORT_BYTES
    ? createHash('sha256').update(bytes).digest('hex')
    : Buffer.from(sha256(bytes)).toString('hex');
}
