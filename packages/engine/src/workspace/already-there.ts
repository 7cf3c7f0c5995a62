/**
 * Whether the files are already what a patch would make of them: it was applied before, or the user made the same
 * change.
 */
import type { PatchHeader } from '@caisson/ground';

import type { ApplyPlace } from './apply-on-copies.ts';
import { mapAtOnce } from './at-once.ts';
import { blobIdOf, readEntry } from './work-file.ts';

export async function isAlreadyThere(place: ApplyPlace, headers: readonly PatchHeader[]): Promise<boolean> {
  const found = await mapAtOnce(headers, (header) => isAsAfter(place, header));
  return found.every(Boolean);
}

async function isAsAfter({ root, objectFormat }: ApplyPlace, header: PatchHeader): Promise<boolean> {
  const { oldPath, newPath, newId, newMode } = header;
  const isLeft = oldPath !== null && newPath?.equals(oldPath) !== true;
  if (isLeft && (await readEntry(root, oldPath)) !== null) return false;
  if (newPath === null) return true;
  const entry = await readEntry(root, newPath);
  if (entry === null || newMode === '160000') return false;
  if (entry.isSymbolicLink() !== (newMode === '120000')) return false;
  if (entry.isFile() && ((entry.mode & 0o100) !== 0) !== (newMode === '100755')) return false;
  // If only mode or name changes, the patch says nothing about contents: under a new name they may be any file's.
  return newId === null ? !isLeft : (await blobIdOf(root, newPath, objectFormat)) === newId;
}
