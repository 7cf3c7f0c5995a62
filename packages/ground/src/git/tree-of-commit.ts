/** Which tree a commit has, read from the store's own files: loose, or whole in a pack. */
import { createHash } from 'node:crypto';
import { constants, inflateSync } from 'node:zlib';
import { readLooseObject } from './loose-object.ts';
import { objectFormatOf } from './own-git-dir.ts';
import { findInPacks, readPacked } from './packs.ts';

const MAX_COMMIT_BYTES = 64 * 1024;
const COMMIT = 1;

/** Null where git has to be asked: another kind of object, a delta, a store elsewhere. */
export async function findTreeOfCommit(objectDir: string, commit: string): Promise<string | null> {
  const text = (await readLooseObject(objectDir, commit)) ?? (await readPackedCommit(objectDir, commit));
  const line = text?.toString('latin1', 0, 'tree '.length + commit.length + 1) ?? '';
  return /^tree ([0-9a-f]+)\n$/.exec(line)?.[1] ?? null;
}

async function readPackedCommit(objectDir: string, commit: string): Promise<Buffer | null> {
  const place = await findInPacks(objectDir, commit);
  const packed = place === null ? null : await readPacked(place, MAX_COMMIT_BYTES);
  return packed === null ? null : inflateCommit(packed, commit);
}

/** Kind and size, then the compressed bytes. Only a whole commit with the right hash counts. */
function inflateCommit(packed: Buffer, commit: string): Buffer | null {
  if ((((packed[0] ?? 0) >> 4) & 7) !== COMMIT) return null;
  const begin = packed.findIndex((byte) => byte < 0x80) + 1;
  try {
    const flush = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_COMMIT_BYTES };
    const bytes = inflateSync(packed.subarray(begin), flush);
    const hash = createHash(objectFormatOf(commit)).update(`commit ${bytes.length}\0`).update(bytes);
    return hash.digest('hex') === commit ? bytes : null;
  } catch {
    return null; // larger than usual, or broken: git says which
  }
}
