// The mailbox is mounted inside the workspace, so a folder of that name must be there. A worktree is ours to prepare;
// in the user's own folder it is usually the state folder and exists. Where it does not, an empty one is made and
// taken away after the last sandbox that uses it: removing it earlier would detach the mount in the others.
import { mkdirSync, rmdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { SandboxSpec } from './contract.ts';
import { findStats, leavesFolder } from './real-path.ts';

const users = new Map<string, number>();

/** Makes the mount point if it is missing. The returned function gives it back; call it once. */
export function holdMailboxMountPoint(spec: SandboxSpec): () => void {
  const path = findMountPoint(spec);
  if (path === null) return () => {};
  const count = users.get(path);
  if (count === undefined && findStats(path) !== null) return () => {};
  if (count === undefined) mkdirSync(path);
  users.set(path, (count ?? 0) + 1);
  return () => release(path);
}

function findMountPoint(spec: SandboxSpec): string | null {
  if (spec.kind === 'none' || spec.mailbox === undefined || spec.workspace === null) return null;
  const inside = relative(spec.workspace.target, spec.mailbox.target);
  return leavesFolder(inside) || inside === '' ? null : join(spec.workspace.source, inside);
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
