/**
 * Control files that came into being below the top of a folder of the user's while an agent worked there, also those
 * that git ignores: they would steer the next program that is started there, and so would parts of a repository.
 *
 * What was there before is told by the inode's change time, which no program can set.
 */
import { lstatSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { CONTROL_FILES, createControlTest, isGitDir, listHarmfulParts } from '@caisson/ground';
import type { Job } from '@caisson/protocol';
import { listFolder } from '../list-folder.ts';

const MAX_FOLDERS = 50_000;
/** What has a longer path cannot be named, by us or by a program that would obey it. */
const MAX_PATH_BYTES = 4000;
/** Code that is run anyway, by the thousand. */
const PASSED_OVER = 'node_modules';
/** A name that no control file ends with needs no closer look. */
const LAST_NAMES = new Set(CONTROL_FILES.map((control) => control.split('/').at(-1) ?? ''));

export interface NewControls {
  /** Relative to the workspace. */
  readonly paths: readonly string[];
  readonly isComplete: boolean;
}

/** `held` are the ones that were there and that the sandbox kept read-only. */
export function findNewControls(options: {
  readonly job: Pick<Job, 'workspace'>;
  readonly held: readonly string[];
  readonly sinceMs: number;
}): NewControls {
  const { workspace } = options.job;
  const root = workspace.path;
  const held = new Set(options.held);
  const isNew = (path: string): boolean =>
    !held.has(path) &&
    (lstatSync(join(root, path), { throwIfNoEntry: false })?.ctimeMs ?? 0) >= options.sinceMs;
  const isControl = createControlTest(root);
  const paths: string[] = [];
  const folders = [''];
  for (let index = 0; index < folders.length; index += 1) {
    if (index >= MAX_FOLDERS) return { paths, isComplete: false };
    const folder = folders[index] ?? '';
    const entries = listFolder(join(root, folder));
    paths.push(...findPlanted(root, folder, entries, isNew));
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (Buffer.byteLength(join(root, path)) > MAX_PATH_BYTES) continue;
      if (path === '.caisson' || (path === '.git' && workspace.agentGit != null)) continue;
      if (entry.name === '.git') paths.push(...judgeRepository(root, path, isNew, options.sinceMs));
      else if (mayBeControl(entry) && isControl(path) && isNew(path)) paths.push(path);
      else if (entry.isDirectory() && entry.name !== PASSED_OVER && !held.has(path)) folders.push(path);
    }
  }
  return { paths, isComplete: true };
}

/** A folder that is a git dir under another name. */
function findPlanted(
  root: string,
  folder: string,
  entries: readonly Dirent[],
  isNew: (path: string) => boolean,
): string[] {
  if (!entries.some(({ name }) => name === 'HEAD')) return [];
  const place = join(root, folder);
  const parts = isGitDir(place) ? listHarmfulParts(place) : [];
  return parts.map((name) => join(folder, name)).filter(isNew);
}

/** A link may bring a whole folder of them in. */
function mayBeControl(entry: Dirent): boolean {
  return entry.isSymbolicLink() || LAST_NAMES.has(entry.name.toLowerCase());
}

/** A file or a link in its place is put aside itself: it names another place. The config of an old one is the user's. */
function judgeRepository(
  root: string,
  path: string,
  isNew: (path: string) => boolean,
  sinceMs: number,
): string[] {
  const found = lstatSync(join(root, path), { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (!found.isDirectory()) return isNew(path) ? [path] : [];
  const isOld = found.birthtimeMs > 0 && found.birthtimeMs < sinceMs;
  return listHarmfulParts(join(root, path))
    .filter((name) => name !== 'config' || !isOld)
    .map((name) => join(path, name))
    .filter(isNew);
}
