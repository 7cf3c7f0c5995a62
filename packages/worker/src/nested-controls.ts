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
      const controls = controlsAt(workspace.path, folder, entry);
      found.push(...(folder === '' ? controls.filter(isOtherSpelling) : controls));
      if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) folders.push(path);
    }
    if (found.length >= MAX_FOUND) break;
  }
  return found.slice(0, MAX_FOUND).map((path) => join(workspace.mountPath, path));
}

/** Of what lies at the top, the usual spelling is held anyway. */
function isOtherSpelling(path: string): boolean {
  return path !== path.toLowerCase();
}

function controlsAt(root: string, folder: string, entry: Dirent): string[] {
  const path = join(folder, entry.name);
  // A submodule's `.git` is a file that says where its repository is.
  if (entry.name === '.git' && entry.isFile()) return [path];
  const controls = BY_FIRST_NAME.get(entry.name.toLowerCase()) ?? [];
  return controls.flatMap((control) => findSpelled(root, path, control.split('/').slice(1)));
}

/** Other disks do not tell `Settings.json` from `settings.json`. */
function findSpelled(root: string, path: string, rest: readonly string[]): string[] {
  const [name, ...below] = rest;
  if (name === undefined) return existsSync(join(root, path)) ? [path] : [];
  return listFolder(join(root, path))
    .filter((entry) => entry.name.toLowerCase() === name)
    .flatMap((entry) => findSpelled(root, join(path, entry.name), below));
}

function groupByFirstName(controls: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const control of controls) {
    const first = control.split('/', 1)[0] ?? '';
    groups.set(first, [...(groups.get(first) ?? []), control]);
  }
  return groups;
}
