import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Content that the host copies at settle, each file named by its sha256. */
export interface Captures {
  put(bytes: Buffer | string): string;
  /** Copies a file whose digest is already known. */
  putFile(path: string, sha256: string): void;
}

/** Most commands print nothing on one of their streams, or on both: then nothing is hashed. */
const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export function openCaptures(folder: string): Captures {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    put(bytes) {
      const sha256 =
        bytes.length === 0 ? SHA256_OF_NOTHING : createHash('sha256').update(bytes).digest('hex');
      const target = join(folder, sha256);
      if (!existsSync(target)) {
        writeFileSync(`${target}.part`, bytes, { mode: 0o600 });
        renameSync(`${target}.part`, target);
      }
      return sha256;
    },
    putFile(path, sha256) {
      const target = join(folder, sha256);
      if (existsSync(target)) return;
      copyFileSync(path, `${target}.part`);
      renameSync(`${target}.part`, target);
    },
  };
}
