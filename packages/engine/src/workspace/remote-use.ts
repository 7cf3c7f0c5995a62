/** When a copy of a remote was last used, and for which address: what decides whether it may go (prune-remotes.ts). */
import { join } from 'node:path';

import { readFileCapped, statIfThere, withFileLock, writeFileAtomic } from '@caisson/ground';

const NOTE = 'caisson-use';
const MAX_NOTE_BYTES = 4096;

/** Nobody else uses, makes or drops the copy meanwhile. The work must be short: no fetch. */
export async function withCacheLock<T>(cache: string, work: () => Promise<T>): Promise<T> {
  return await withFileLock(`${cache}.lock`, work);
}

/** Under the lock. */
export async function noteUse(cache: string, url: string): Promise<void> {
  await writeFileAtomic(join(cache, NOTE), `${url}\n`, { durable: false });
}

/** Null for a copy without a note: an earlier version made it, and its age is that of its folder. */
export async function readUse(
  cache: string,
): Promise<{ readonly url: string | null; readonly usedMs: number }> {
  const noted = statIfThere(join(cache, NOTE), 'itself');
  if (noted === null) return { url: null, usedMs: statIfThere(cache, 'itself')?.mtimeMs ?? 0 };
  const text = await readFileCapped(join(cache, NOTE), MAX_NOTE_BYTES, { noFollow: true }).catch(() => null);
  return { url: text?.toString('utf8').trim() ?? null, usedMs: noted.mtimeMs };
}
