/**
 * Remembers which tree a folder had, and when, so that an unchanged folder costs no process.
 *
 * M1  "Unchanged" is judged by the inode change time, which no program can set, of every file and folder, against a
 *     mark made on the same file system before the stage began. Equal counts as changed.
 * M2  In any doubt (another folder, another file system, too many entries, other exclusions that exist) it is staged.
 */
import { lstat, opendir, readFile, rm, writeFile } from 'node:fs/promises';
import { lstatSync, readdirSync, type Dirent, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import * as z from 'zod/mini';

import { isErrno, unlessErrno } from '../platform/index.ts';
import type { OversizedFile } from './oversized-files.ts';
import { isBehindLink } from './workspace-folder.ts';

const Memory = z.object({
  tree: z.string(),
  nested: z.array(z.string()),
  warnings: z.array(z.string()),
  oversized: z._default(z.array(z.object({ path: z.string(), size: z.number() })), []),
  hidden: z._default(z.array(z.string()), []),
  isFirst: z._default(z.boolean(), false),
  device: z.number(),
  changedAtMs: z.number(),
  workspace: z.string(),
  exclude: z.array(z.string()),
});
type Memory = z.infer<typeof Memory>;

/** A moment on a file system's own clock. */
export type StageMark = Pick<Memory, 'device' | 'changedAtMs'>;

export interface RememberedStage {
  readonly tree: string;
  readonly nested: readonly string[];
  readonly warnings: readonly string[];
  readonly oversized: readonly OversizedFile[];
  readonly hidden?: readonly string[] | undefined;
  /** Whether it is the folder's first state: nothing, ignored files included, was touched since it was made. */
  readonly isFirst?: boolean | undefined;
}

interface StagePlace {
  readonly workspace: string;
  readonly gitDir: string;
  readonly exclude: readonly string[];
}

const MEMORY = 'staged.json';
const MARK = 'stage-mark';
const MAX_ENTRIES = 5000;
const ENTRIES_A_TURN = 500;

/** The file system's own clock, now. */
export async function takeMark(gitDir: string): Promise<StageMark> {
  const path = join(gitDir, MARK);
  await rm(path, { force: true });
  await writeFile(path, '');
  const { dev, ctimeMs } = await lstat(path);
  return { device: dev, changedAtMs: ctimeMs };
}

export async function rememberStaged(
  place: StagePlace,
  staged: RememberedStage,
  mark: StageMark,
): Promise<void> {
  const memory = { ...staged, ...mark, workspace: place.workspace, exclude: place.exclude };
  await writeFile(join(place.gitDir, MEMORY), JSON.stringify(memory));
}

export async function forgetMemory(gitDir: string): Promise<void> {
  await rm(join(gitDir, MEMORY), { force: true });
}

/** What was staged last, if the folder is still exactly that. */
export async function recallStaged(place: StagePlace): Promise<RememberedStage | null> {
  const memory = await readMemory(place.gitDir);
  if (memory === null || memory.workspace !== place.workspace) return null;
  if (await differInWhatExists(place, memory.exclude)) return null;
  if (!(await isUntouched(place, memory))) return null;
  const { tree, nested, warnings, oversized, hidden, isFirst } = memory;
  return { tree, nested, warnings, oversized, hidden, isFirst };
}

/**
 * The nested repositories of the last stage that are still there. Once the files of one are in the index, git takes it
 * for a plain folder and does not name it again.
 */
export async function recallNested({ gitDir, workspace }: StagePlace): Promise<readonly string[]> {
  const memory = await readMemory(gitDir);
  if (memory === null || memory.workspace !== workspace) return [];
  return memory.nested
    .map((path) => join(path, '.git'))
    .filter((path) => lstatSync(join(workspace, path), { throwIfNoEntry: false }) !== undefined)
    .filter((path) => !isBehindLink(workspace, path)) // it may have become a link to somewhere else
    .map((path) => dirname(path));
}

/** What the last stage of this folder left out; null when there was none, or it gave the baseline itself. */
export async function readStagedExclusions(
  place: StagePlace,
  baselineTree: string,
): Promise<readonly string[] | null> {
  const memory = await readMemory(place.gitDir);
  const isUsable = memory !== null && memory.workspace === place.workspace && memory.tree !== baselineTree;
  return isUsable ? memory.exclude : null;
}

async function readMemory(gitDir: string): Promise<Memory | null> {
  try {
    const memory = Memory.safeParse(JSON.parse(await readFile(join(gitDir, MEMORY), 'utf8')));
    return memory.success ? memory.data : null;
  } catch (error) {
    if (isErrno(error, 'ENOENT') || error instanceof SyntaxError) return null;
    throw error;
  }
}

async function differInWhatExists(place: StagePlace, exclude: readonly string[]): Promise<boolean> {
  const differing = [
    ...place.exclude.filter((path) => !exclude.includes(path)),
    ...exclude.filter((path) => !place.exclude.includes(path)),
  ];
  for (const path of differing) if (await isFilled(join(place.workspace, path))) return true;
  return false;
}

/** Git ignores an empty folder. */
async function isFilled(path: string): Promise<boolean> {
  try {
    const folder = await opendir(path);
    try {
      return (await folder.read()) !== null;
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    if (isErrno(error, 'ENOTDIR', 'EACCES')) return true;
    throw error;
  }
}

async function isUntouched(place: StagePlace, mark: StageMark): Promise<boolean> {
  const skipped = new Set([...place.exclude, '.git'].map((path) => join(place.workspace, path)));
  const folders = [place.workspace];
  let seen = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    if (hasChanged(folder, mark)) return false;
    const entries = listIfReadable(folder);
    if (entries === null) return false; // M2
    for (const entry of entries) {
      const name = entry.name.toString('utf8');
      const path = join(folder, name);
      if (skipped.has(path)) continue;
      seen += 1;
      if (seen > MAX_ENTRIES || !Buffer.from(name).equals(entry.name)) return false; // M2
      if (seen % ENTRIES_A_TURN === 0) await setImmediate();
      if (entry.isDirectory()) folders.push(path);
      else if (hasChanged(path, mark)) return false;
    }
  }
  return true;
}

function listIfReadable(folder: string): Dirent<Buffer>[] | null {
  try {
    return readdirSync(folder, { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    if (isErrno(error, 'EACCES', 'ENAMETOOLONG')) return null;
    throw error;
  }
}

/** M2: a name that is too long to be read counts as changed. */
function lookAt(path: string): Stats | undefined {
  return unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }), undefined, 'ENAMETOOLONG', 'EACCES');
}

/** M1 */
function hasChanged(path: string, mark: StageMark): boolean {
  const entry = lookAt(path);
  return entry === undefined || entry.dev !== mark.device || entry.ctimeMs >= mark.changedAtMs;
}
