/** Removal is a move into the trash (W2); only `gc` deletes, and only what has expired there. */
import { readdirSync, statSync } from 'node:fs';
import { readdir, rename, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import {
  beneath,
  emptyTreeLike,
  isErrno,
  isWorkspaceBare,
  makeFolder,
  NEVER_IN_PATCH,
  publishFile,
  removeTree,
  stageWorkspace,
  statIfThere,
  undoLaid,
  type Seal,
} from '@caisson/ground';

import { hasUnsavedCommits } from './agent-commits.ts';
import { SAVED_TREE_FILE, stageForCustody, trashPlace } from './checkpoint.ts';
import type { MovedWorkspace, PreparedWorkspace, RemoveResult, Workspaces } from './contract.ts';
import { heldBackPlace } from './held-back.ts';
import { findHiddenWork } from './hidden-work.ts';
import { findChangedIncluded } from './included-memory.ts';
import { findLiveProcesses } from './live-processes.ts';
import { readIfThere } from './locate-repository.ts';
import { listFolder, listMoved } from './record.ts';

/** Why a folder is in the trash; without a mark it counts as unsaved. */
type TrashMark =
  /** A checkpoint has all of it. */
  | 'saved'
  /** Nothing was done in it: it waits only to be removed when there is time. */
  | 'untouched'
  /** No agent has run in it. */
  | 'unused'
  /** Nothing else has it. */
  | 'unsaved';
const MARK_FILE = 'trashed';
const MAX_SMALL = 128;
const DEFAULT_SAVED_TTL_MS = 10 * 60_000;

export async function removeWorkspace(prepared: PreparedWorkspace, force: boolean): Promise<RemoveResult> {
  // By a host that died right after it.
  if (statIfThere(prepared.attemptDir, 'itself') === null) return { kind: 'removed' };
  const isBare = await holdsNothing(prepared);
  if (isBare && prepared.kind === 'empty' && (await removeBare(prepared))) return { kind: 'removed' };
  const pids = findLiveProcesses(prepared.kind === 'in-place' ? prepared.attemptDir : prepared.path);
  if (pids.length > 0) return { kind: 'refused', reason: 'live-processes', pids };
  if (isBare && prepared.kind === 'in-place') {
    await removeTree(prepared.attemptDir);
    return { kind: 'removed' };
  }
  const left = isBare ? { isTouched: true, paths: [] } : await findUnsaved(prepared);
  if (left === null && !force) return { kind: 'refused', reason: 'unsaved-work' };
  if (left?.isTouched === false && isSmall(prepared.path)) {
    await removeTree(prepared.attemptDir);
    return { kind: 'removed' };
  }
  if (prepared.kind === 'in-place' && left !== null) await takeOutLaid(prepared);
  const mark = left === null ? await markUnsaved(prepared) : await holdBack(prepared, left);
  const isSaved = mark === 'saved' || mark === 'untouched';
  return { kind: 'trashed', path: await moveToTrash(prepared, mark), isSaved };
}

export interface TrashOptions {
  readonly stateDir: string;
  readonly trashTtlMs: number;
  readonly savedTtlMs?: number;
  readonly heldBackTtlMs?: number;
  readonly oldest?: number;
  readonly nowMs: number;
}

/** Deletes what has expired; the only copy of something never expires by itself (W2). */
export async function emptyTrash(options: TrashOptions): Promise<{ deleted: string[]; kept: string[] }> {
  const { savedTtlMs = DEFAULT_SAVED_TTL_MS, trashTtlMs, heldBackTtlMs = Infinity } = options;
  const ttlMs: Record<TrashMark, number> = {
    saved: Math.min(savedTtlMs, trashTtlMs),
    untouched: 0,
    unused: trashTtlMs,
    unsaved: heldBackTtlMs,
  };
  const deleted: string[] = [];
  const kept: string[] = [];
  for (const { path, mark, sinceMs } of await listExpiring(options)) {
    const isTaken = mark === 'unsaved' && (await isEmptied(path));
    if (!isTaken && options.nowMs - sinceMs < ttlMs[mark]) {
      if (mark === 'unsaved') kept.push(path);
      continue;
    }
    await removeTree(path);
    deleted.push(path);
  }
  return { deleted, kept };
}

interface Expiring {
  readonly path: string;
  readonly mark: TrashMark;
  readonly sinceMs: number;
}

/** The trash, oldest first, and what was held back from it. A folder of unknown age is kept. */
async function listExpiring({ stateDir, oldest }: TrashOptions): Promise<Expiring[]> {
  const trash = join(stateDir, 'trash');
  const names = (await listFolder(trash)).toSorted((left, right) => (left < right ? -1 : 1)); // ids sort by time
  const found: Expiring[] = [];
  for (const name of names) {
    const path = join(trash, name);
    const mark = await readMark(path);
    if (oldest !== undefined && mark === 'unsaved') continue;
    found.push({ path, mark, sinceMs: changedAtMs(join(path, MARK_FILE)) });
    if (found.length === oldest) return found;
  }
  const aside = join(stateDir, 'held-back');
  for (const path of (await listFolder(aside)).toSorted().map((name) => join(aside, name)))
    found.push({ path, mark: 'unsaved', sinceMs: changedAtMs(path) });
  return found;
}

function changedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
}

/** The user has taken every file that was held back. */
async function isEmptied(path: string): Promise<boolean> {
  if (statIfThere(path, 'itself')?.isDirectory() !== true) return false;
  for (const name of await readdir(path)) if (!(await isEmptied(join(path, name)))) return false;
  return true;
}

/** The checkpoint found nothing in it, either. */
async function holdsNothing(prepared: PreparedWorkspace): Promise<boolean> {
  if (prepared.agentGit !== undefined) return false;
  if (prepared.baselineTree !== emptyTreeLike(prepared.baselineTree)) return false;
  return await isWorkspaceBare(prepared.path, prepared.exclude);
}

/** Only the kernel decides: a folder that was just written to is not removed, and is inspected. */
async function removeBare(prepared: PreparedWorkspace): Promise<boolean> {
  for (const name of prepared.exclude) await removeTree(join(prepared.path, name));
  try {
    await rmdir(prepared.path);
  } catch (error) {
    if (isErrno(error, 'ENOTEMPTY') || isErrno(error, 'EEXIST') || isErrno(error, 'EBUSY')) return false;
    throw error;
  }
  await removeTree(prepared.attemptDir);
  return true;
}

interface Unsaved {
  /** False: the files are unchanged, ignored ones included, so there is nothing to keep. */
  readonly isTouched: boolean;
  /** What no checkpoint has, relative to the workspace. */
  readonly paths: readonly string[];
  /** Something has no other copy. */
  readonly isStuck?: boolean;
}

/** Null when there is no checkpoint, or it is not of these files. */
async function findUnsaved(prepared: PreparedWorkspace): Promise<Unsaved | null> {
  const savedTree = await readIfThere(join(prepared.attemptDir, SAVED_TREE_FILE));
  if (savedTree === null) return null;
  // The files stay where they are, and the user may have changed them by now: our folder has none of them.
  const isStuck = await hasUnsavedCommits(prepared);
  if (prepared.kind === 'in-place') return { isTouched: true, paths: [], isStuck };
  const staged = await stageForCustody(prepared);
  if (staged.warnings.length > 0 || savedTree !== staged.tree) return null;
  const paths = [
    ...staged.oversized.map(({ path }) => path),
    ...(await findChangedIncluded(prepared)),
    ...(staged.isFirst === true ? [] : await findHiddenWork(prepared)),
  ];
  return { isTouched: staged.isFirst !== true || paths.length > 0 || isStuck, paths, isStuck };
}

/** A forced removal assumes that no agent has run. Changed files contradict that. */
async function markUnsaved(prepared: PreparedWorkspace): Promise<TrashMark> {
  if (prepared.kind === 'in-place') return 'unused'; // the files stay where they are
  try {
    const { tree, warnings, oversized } = await stageForCustody(prepared);
    const isAsLaid = tree === (prepared.startTree ?? prepared.baselineTree);
    return isAsLaid && warnings.length + oversized.length === 0 ? 'unused' : 'unsaved';
  } catch {
    return 'unsaved'; // unknown
  }
}

/** W2. Where something cannot be moved, all of it is kept. */
async function holdBack(
  prepared: PreparedWorkspace,
  { paths, isTouched, isStuck = false }: Unsaved,
): Promise<TrashMark> {
  let isComplete = !isStuck;
  for (const path of paths) {
    const target = join(heldBackPlace(prepared), path);
    try {
      makeFolder(dirname(target));
      const moved = await beneath(prepared.path, Buffer.from(path), async (source) => {
        await publishFile(source, target);
        return true;
      });
      isComplete &&= moved === true;
    } catch {
      isComplete = false; // an odd name, a link on the way, a file that cannot be opened
    }
  }
  return isComplete ? (isTouched ? 'saved' : 'untouched') : 'unsaved';
}

/** Capabilities and inputs were only copied to the user's folder for the run. */
async function takeOutLaid(prepared: PreparedWorkspace): Promise<void> {
  const { path, gitDir, baselineTree, limits } = prepared;
  const exclude = [...new Set([...NEVER_IN_PATCH, ...prepared.exclude])];
  const { tree } = await stageWorkspace({ workspace: path, gitDir, exclude, like: baselineTree, limits });
  await undoLaid({ workspace: path, gitDir, baselineTree }, tree);
}

/** Small enough to remove while the user waits for the run. */
function isSmall(folder: string): boolean {
  const waiting = [folder];
  let seen = 0;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const entries = readdirSync(path, { withFileTypes: true });
    seen += entries.length;
    if (seen > MAX_SMALL) return false;
    waiting.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path ?? '', name)));
  }
  return true;
}

export async function trashMoved(
  stateDir: string,
  seal: Seal,
  isOver: (runId: string) => boolean,
): ReturnType<Workspaces['trashMoved']> {
  const trashed: (MovedWorkspace & { trashed: string })[] = [];
  for (const moved of await listMoved(stateDir, seal)) {
    if (!isOver(moved.runId) || findLiveProcesses(moved.attemptDir).length > 0) continue;
    trashed.push({ ...moved, trashed: await moveToTrash(moved, 'unsaved') });
  }
  return trashed;
}

async function moveToTrash(
  { attemptDir }: Pick<PreparedWorkspace, 'attemptDir'>,
  mark: TrashMark,
): Promise<string> {
  const target = trashPlace({ attemptDir });
  makeFolder(dirname(target));
  await writeFile(join(attemptDir, MARK_FILE), `${mark}\n`);
  await rename(attemptDir, target);
  return target;
}

async function readMark(path: string): Promise<TrashMark> {
  const text = (await readIfThere(join(path, MARK_FILE)))?.trim();
  return text === 'saved' || text === 'unused' || text === 'untouched' ? text : 'unsaved';
}
