/**
 * Control files in folders below the top: a program that is started there obeys them, too. The search is limited in
 * folders and in finds, shallow ones first; what is beyond is still left out of the patch, and where an agent works in
 * the user's own folder that is the limit of this guard.
 */
import { existsSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { foldName, listRiskyPaths, type Job, type RiskGrade } from '@caisson/protocol';
import { listFolder } from './list-folder.ts';

const MAX_FOLDERS = 2000;
const MAX_FOUND = 64;
/** Copies of published packages, by the thousand; and our own files. */
const PASSED_OVER = new Set(['node_modules', '.git', '.caisson']);

/** Grades of the table that stay unchanged while an agent works: in place the user could not be asked afterwards. */
export function heldGrades({ kind, allowRisky }: Job['workspace']): RiskGrade[] {
  return kind === 'in-place' && allowRisky !== true ? ['never', 'ask'] : ['never'];
}

/** What the sandbox makes read-only at the top, if it exists; relative to the workspace. */
export function listHeldPaths(workspace: Job['workspace']): string[] {
  const grades = heldGrades(workspace);
  const own = (workspace.controls ?? []).filter(({ grade }) => grades.includes(grade));
  // At the top the agent has its own git dir, and `.caisson` is its mailbox.
  const listed = grades.flatMap(listRiskyPaths).filter((path) => !/^\.(git|caisson)(\/|$)/.test(path));
  return [...listed, ...own.map(({ path }) => path)];
}

/** Paths as seen inside of the control files that exist below the top of the workspace. */
export function findNestedControls({ workspace }: Pick<Job, 'workspace'>): string[] {
  const found: string[] = [];
  const byFirstName = groupByFirstName(heldGrades(workspace).flatMap(listRiskyPaths));
  const folders = [''];
  for (let index = 0; index < folders.length && index < MAX_FOLDERS; index += 1) {
    const folder = folders[index] ?? '';
    for (const entry of listFolder(join(workspace.path, folder))) {
      const path = join(folder, entry.name);
      const controls = controlsAt(workspace.path, folder, entry, byFirstName);
      found.push(...(folder === '' ? controls.filter(isOtherSpelling) : controls));
      if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) folders.push(path);
    }
    if (found.length >= MAX_FOUND) break;
  }
  return found.slice(0, MAX_FOUND).map((path) => join(workspace.mountPath, path));
}

/** At the top, the usual spelling is read-only anyway. */
function isOtherSpelling(path: string): boolean {
  return path !== path.toLowerCase();
}

function controlsAt(
  root: string,
  folder: string,
  entry: Dirent,
  byFirstName: ReadonlyMap<string, readonly string[]>,
): string[] {
  const path = join(folder, entry.name);
  // A submodule's `.git` is a file that names its repository.
  if (entry.name === '.git' && entry.isFile()) return [path];
  const controls = byFirstName.get(foldName(entry.name)) ?? [];
  return controls.flatMap((control) => findSpelled(root, path, control.split('/').slice(1)));
}

/** Other disks do not distinguish `Settings.json` from `settings.json`. */
function findSpelled(root: string, path: string, rest: readonly string[]): string[] {
  const [name, ...below] = rest;
  if (name === undefined) return existsSync(join(root, path)) ? [path] : [];
  return listFolder(join(root, path))
    .filter((entry) => foldName(entry.name) === name)
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
