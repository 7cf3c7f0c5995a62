import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { SecretSource, SecretsOptions } from './contract.ts';
import { MAX_SECRET_BYTES } from './limits.ts';

const READABLE_BY_OTHERS = 0o044;

/** `file:PATH`, relative to the project; `~/` is the home folder. */
export function createFileSource({ home, base, onWarning }: SecretsOptions): SecretSource {
  return {
    isKept: false,
    check: (path) => (path.includes('\0') ? 'a path cannot hold a NUL' : null),
    async fetch(path) {
      const full = path.startsWith('~/') ? join(home, path.slice(2)) : resolve(base, path);
      // Without O_NONBLOCK, opening a FIFO without a writer would wait for ever.
      const file = await open(full, constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const stat = await file.stat();
        if (!stat.isFile()) throw new Error(`${full} is not a regular file`);
        if (stat.size > MAX_SECRET_BYTES) throw new Error(`${full} has more than ${MAX_SECRET_BYTES} bytes`);
        if ((stat.mode & READABLE_BY_OTHERS) !== 0)
          onWarning?.(`the secret file ${full} can be read by other users; run chmod 600 on it`);
        return await file.readFile('utf8');
      } finally {
        await file.close();
      }
    },
  };
}
