/**
 * Control files in folders below the top: a program that is started there obeys them as much. The search is bounded in
 * folders and in finds, shallow ones first; what lies beyond is kept out of the patch all the same, and where an agent
 * works in the user's own folder that is the limit of this guard.
 */
import { existsSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { CONTROL_FILES } from '@caisson/ground';
import type { Job } from '@caisson/protocol';
import { listFolder } from './list-folder.ts';

const MAX_FOLDERS = 2000;
const MAX_FOUND = 64;
/** A nested repository's own: what git runs and obeys there. At the top the agent has a git dir of its own. */
const GIT_CONTROLS = ['.git/config', '.git/hooks'];
/** Copies of what others publish, by the thousand. */
const PASSED_OVER = new Set(['node_modules', '.git', '.caisson']);

const BY_FIRST_NAME = groupByFirstName([...CONTROL_FILES, ...GIT_CONTROLS]);

/** Paths as seen inside of the control files that exist below the top of the workspace. */
export function findNestedControls({ workspace }: Pick<Job, 'workspace'>): string[] {
  const found: string[] = [];
  const folders = [''];
  for (let index = 0; index < folders.length && index < MAX_FOLDERS; index += 1) {
    const folder = folders[index] ?? '';
    for (const entry of listFolder(join(workspace.path, folder))) {
      const path = join(folder, entry.name);
      if (folder !== '') found.push(...controlsAt(workspace.path, folder, entry));
      if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) folders.push(path);
    }
    if (found.length >= MAX_FOUND) break;
  }
  return found.slice(0, MAX_FOUND).map((path) => join(workspace.mountPath, path));
}

function controlsAt(root: string, folder: string, entry: Dirent): string[] {
  // A submodule's `.git` is a file that says where its repository is.
  if (entry.name === '.git' && entry.isFile()) return [join(folder, entry.name)];
  const controls = BY_FIRST_NAME.get(entry.name) ?? [];
  return controls.map((control) => join(folder, control)).filter((path) => existsSync(join(root, path)));
}

function groupByFirstName(controls: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const control of controls) {
    const first = control.split('/', 1)[0] ?? '';
    groups.set(first, [...(groups.get(first) ?? []), control]);
  }
  return groups;
}
