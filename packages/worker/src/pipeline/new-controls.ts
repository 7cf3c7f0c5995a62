/**
 * Control files that were made below the top of a folder of the user while an agent worked there, also those that git
 * ignores: they would control the next program that is started there, and so would parts of a repository.
 *
 * The inode's change time, which no program can set, shows what existed before.
 */
import { lstatSync, type Dirent } from 'node:fs';
import { basename, join } from 'node:path';
import { createControlTest, isGitDir, listHarmfulParts } from '@caisson/ground';
import { foldName, listRiskyPaths, RISKY_PATHS, type Job } from '@caisson/protocol';
import { listFolder, heldGrades } from '../view/index.ts';

const MAX_FOLDERS = 50_000;
/** A longer path cannot be named, by us or by a program that would obey it. */
const MAX_PATH_BYTES = 4000;
/** Code that is run anyway, by the thousand. */
const PASSED_OVER = 'node_modules';
/** A name that is no ending of a risky file needs no further check. */
const LAST_NAMES = new Set(
  (['never', 'ask'] as const).flatMap(listRiskyPaths).map((path) => path.split('/').at(-1) ?? ''),
);

const MANIFESTS = new Set(RISKY_PATHS.filter(({ parts }) => parts !== undefined).map(({ path }) => path));

export interface NewControls {
  /** Paths relative to the workspace, each with the end of a sentence that begins with it. */
  readonly risks: readonly { readonly path: string; readonly why: string }[];
  /** Files that were made or changed and of which only some members count (`parts` of the table). */
  readonly manifests: readonly string[];
  readonly isComplete: boolean;
}

/** `held` are the ones that existed and that the sandbox made read-only. */
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
  const findRisk = createControlTest(root, workspace.controls);
  const grades = heldGrades(workspace);
  const risks = new Map<string, string>(); // one may be found in two ways
  const find = (path: string, why = 'is a control file'): unknown => risks.set(path, why);
  const manifests: string[] = [];
  const conclude = (isComplete: boolean): NewControls => ({
    risks: [...risks].map(([path, why]) => ({ path, why })),
    manifests: grades.includes('ask') ? manifests : [],
    isComplete,
  });
  const folders = [''];
  for (let index = 0; index < folders.length; index += 1) {
    if (index >= MAX_FOLDERS) return conclude(false);
    const folder = folders[index] ?? '';
    const entries = listFolder(join(root, folder));
    findPlanted(root, folder, entries, isNew).forEach((path) => find(path));
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (Buffer.byteLength(join(root, path)) > MAX_PATH_BYTES) continue;
      if (path === '.caisson' || (path === '.git' && workspace.agentGit != null)) continue;
      if (entry.name === '.git') {
        judgeRepository(root, path, isNew).forEach((part) => find(part));
        if (entry.isDirectory() && isFolder(root, join(path, 'modules'))) folders.push(join(path, 'modules'));
        continue;
      }
      // In a git dir only its own parts count; they were checked as such.
      const isInGitDir = folder.split('/').includes('.git');
      const risk = !isInGitDir && mayBeControl(entry) ? findRisk(path) : null;
      if (risk !== null && grades.includes(risk.grade) && isNew(path)) find(path, risk.why);
      else if (entry.isDirectory() && entry.name !== PASSED_OVER && !held.has(path)) folders.push(path);
      else if (MANIFESTS.has(foldName(entry.name)) && isNew(path)) manifests.push(path);
    }
  }
  return conclude(true);
}

/** A folder that is a git dir under another name. */
function findPlanted(
  root: string,
  folder: string,
  entries: readonly Dirent[],
  isNew: (path: string) => boolean,
): string[] {
  if (!entries.some(({ name }) => name === 'HEAD')) return [];
  return isGitDir(join(root, folder)) ? listNewParts(root, folder, isNew) : [];
}

/** A link may bring in a whole folder of them. */
function mayBeControl(entry: Dirent): boolean {
  return entry.isSymbolicLink() || LAST_NAMES.has(foldName(entry.name)) || foldName(entry.name) === '.git';
}

/** A file or a link in its place is moved aside itself: it names another place. */
function judgeRepository(root: string, path: string, isNew: (path: string) => boolean): string[] {
  if (isFolder(root, path)) return listNewParts(root, path, isNew);
  return isNew(path) ? [path] : [];
}

/** In `modules` there may be repositories of the user: they are checked one by one. */
function listNewParts(root: string, gitDir: string, isNew: (path: string) => boolean): string[] {
  return listHarmfulParts(join(root, gitDir))
    .map((name) => join(gitDir, name))
    .filter((part) => isNew(part) && !(basename(part) === 'modules' && isFolder(root, part)));
}

function isFolder(root: string, path: string): boolean {
  return lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
}
