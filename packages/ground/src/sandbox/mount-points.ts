// The mailbox and the masks are mounted inside the workspace, so folders of those names must exist. In a worktree we
// make them; in the user's own folder they may exist. A missing one is made empty and removed after the last sandbox
// that uses it: removing it earlier would detach the mount in the others.
import { mkdirSync, rmdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { SandboxSpec } from './contract.ts';
import { findStats, leavesFolder } from './real-path.ts';

const users = new Map<string, number>();

/** Makes the missing mount points. The returned function removes them; call it once. */
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
    // Another process put something there, or the whole workspace is already gone: we undo neither.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EBUSY' && code !== 'ENOTDIR') throw error;
  }
}
