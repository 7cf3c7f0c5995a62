/**
 * An attempt's lines and output are in the store once its run has ended. Its own files are removed then, each by its
 * content: one that the store lacks (a refused result, a log that was too long for the record) stays for `gc`.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readFileCapped, removeTree } from '@caisson/ground';
import type { DispatchRooms } from '../admission/index.ts';
import type { AttemptPaths } from './state-paths.ts';

/** A longer file cannot be in the store: the record of a log has at most 4 MiB. */
const MAX_BYTES = 8 * 1024 * 1024;

export async function removeStored(
  { store }: Pick<DispatchRooms, 'store'>,
  paths: AttemptPaths,
): Promise<void> {
  const stdout = join(paths.spool, 'stdout');
  const stderr = join(paths.spool, 'stderr');
  await removeTree(join(paths.spool, 'tools.sock')); // of a worker that was killed
  for (const path of [paths.result, stdout, stderr]) if (await isStored(store, path)) await removeTree(path);
}

async function isStored(store: DispatchRooms['store'], path: string): Promise<boolean> {
  try {
    const bytes = await readFileCapped(path, MAX_BYTES);
    const digest = createHash('sha256').update(bytes).digest('hex');
    return await store.hasBlob(digest);
  } catch {
    return false; // missing, too long, or no file: the store cannot have it
  }
}
