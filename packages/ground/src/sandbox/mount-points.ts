// The mailbox and the masks are mounted inside the workspace, so folders of those names must be there. A worktree is
// ours to prepare; in the user's own folder they may exist. Where one does not, an empty one is made and taken away
// after the last sandbox that uses it: removing it earlier would detach the mount in the others.
import { mkdirSync, rmdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { SandboxSpec } from './contract.ts';
import { findStats, leavesFolder } from './real-path.ts';

const users = new Map<string, number>();

/** Makes the mount points that are missing. The returned function gives them back; call it once. */
export function holdMountPoints(spec: SandboxSpec): () => void {
  const held = listMountPoints(spec).filter(hold);
  return () => held.forEach(release);
}

function hold(path: string): boolean {
  const count = users.get(path);
  if (count === undefined && findStats(path) !== null) return false;
  if (count === undefined) mkdirSync(path);
  users.set(path, (count ?? 0) + 1);
  return true;
}

function listMountPoints({ kind, mailbox, masks = [], workspace }: SandboxSpec): string[] {
  if (kind === 'none' || workspace === null) return [];
  const { source, target } = workspace;
  const places = [
    ...(mailbox === undefined ? [] : [mailbox.target]),
    ...masks.flatMap((mask) => (mask.kind === 'folder' ? [mask.path] : [])),
  ];
  return places
    .map((place) => relative(target, place))
    .filter((inside) => inside !== '' && !leavesFolder(inside))
    .map((inside) => join(source, inside))
    .filter((path) => findStats(dirname(path))?.isDirectory() === true);
}

function release(path: string): void {
  const count = (users.get(path) ?? 1) - 1;
  if (count > 0) {
    users.set(path, count);
    return;
  }
  users.delete(path);
  try {
    rmdirSync(path);
  } catch (error) {
    // Somebody put something there, or the whole workspace is gone already: neither is ours to undo.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EBUSY' && code !== 'ENOTDIR') throw error;
  }
}
