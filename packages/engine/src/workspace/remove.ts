/** Removal is a move into the trash (W2); only `gc` deletes, and only what has expired there. */
import { readdirSync } from 'node:fs';
import { mkdir, readFile, rename, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import {
  emptyTreeLike,
  isErrno,
  isWorkspaceBare,
  NEVER_IN_PATCH,
  removeTree,
  stageWorkspace,
  undoLaid,
  type Seal,
} from '@caisson/ground';

import { SAVED_TREE_FILE, stageForCustody, trashPlace } from './checkpoint.ts';
import type { PreparedWorkspace, RemoveResult } from './contract.ts';
import { findChangedIncluded } from './included-memory.ts';
import { findLiveProcesses } from './live-processes.ts';
import { readIfThere } from './locate-repository.ts';
import { listFolder, listMoved } from './record.ts';

const SAVED_MARK = 'saved';
const UNSAVED_MARK = 'unsaved';
/** Nothing was done in it: it waits only for somebody who has the time to remove it. */
const UNTOUCHED_MARK = 'untouched';
const MAX_SMALL = 128;
const DEFAULT_SAVED_TTL_MS = 10 * 60_000;

export async function removeWorkspace(prepared: PreparedWorkspace, force: boolean): Promise<RemoveResult> {
  if ((await isUntouched(prepared)) && (await removeBare(prepared))) return { kind: 'removed' };
  const pids = findLiveProcesses(prepared.kind === 'in-place' ? prepared.attemptDir : prepared.path);
  if (pids.length > 0) return { kind: 'refused', reason: 'live-processes', pids };
  if (await isBareInPlace(prepared)) {
    await removeTree(prepared.attemptDir);
    return { kind: 'removed' };
  }
  const saved = await lookForUnsaved(prepared);
  if (saved === 'not' && !force) return { kind: 'refused', reason: 'unsaved-work' };
  if (saved === 'untouched' && isSmall(prepared.path)) {
    await removeTree(prepared.attemptDir);
    return { kind: 'removed' };
  }
  if (prepared.kind === 'in-place' && saved !== 'not') await takeOutLaid(prepared);
  const isSaved = saved === 'all' || saved === 'untouched';
  const mark = saved === 'untouched' ? UNTOUCHED_MARK : isSaved ? SAVED_MARK : UNSAVED_MARK;
  return { kind: 'trashed', path: await moveToTrash(prepared, mark), isSaved };
}

/** Deletes what has expired. A folder whose age cannot be told is kept. */
export async function emptyTrash(options: {
  stateDir: string;
  trashTtlMs: number;
  savedTtlMs?: number;
  oldest?: number;
  nowMs: number;
}): Promise<{ deleted: string[] }> {
  const trash = join(options.stateDir, 'trash');
  const deleted: string[] = [];
  const names = (await listFolder(trash)).toSorted((left, right) => (left < right ? -1 : 1)); // ids sort by time
  for (const name of names.slice(0, options.oldest ?? names.length)) {
    const path = join(trash, name);
    const mark = await readMark(path);
    const savedTtlMs = mark === UNTOUCHED_MARK ? 0 : (options.savedTtlMs ?? DEFAULT_SAVED_TTL_MS);
    const isSaved = mark === SAVED_MARK || mark === UNTOUCHED_MARK;
    const ttlMs = isSaved ? Math.min(savedTtlMs, options.trashTtlMs) : options.trashTtlMs;
    if (options.nowMs - (await trashedAtMs(path)) < ttlMs) continue;
    await removeTree(path);
    deleted.push(path);
  }
  return { deleted };
}

/** An empty workspace that is still empty, but for the mailbox that is there without a sandbox, holds nothing to keep. */
async function isUntouched(prepared: PreparedWorkspace): Promise<boolean> {
  if (prepared.kind !== 'empty' || prepared.baselineTree !== emptyTreeLike(prepared.baselineTree))
    return false;
  return await isWorkspaceBare(prepared.path, prepared.exclude);
}

/** Nothing was owed for an empty folder in place: it has no checkpoint, and only our own folder goes. */
async function isBareInPlace(prepared: PreparedWorkspace): Promise<boolean> {
  if (prepared.kind !== 'in-place' || prepared.agentGit !== undefined) return false;
  if (prepared.baselineTree !== emptyTreeLike(prepared.baselineTree)) return false;
  return await isWorkspaceBare(prepared.path, prepared.exclude);
}

/** The kernel alone decides: a folder into which something was written just now is not removed, and is looked at. */
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

/**
 * In place the files stay where they are; only our own folder goes, and the checkpoint is still owed. `untouched`: the
 * files are as they were laid out, ignored ones included, so there is nothing to look into later.
 */
async function lookForUnsaved(
  prepared: PreparedWorkspace,
): Promise<'untouched' | 'all' | 'all-but-kept' | 'not'> {
  const savedTree = await readIfThere(join(prepared.attemptDir, SAVED_TREE_FILE));
  if (savedTree === null) return 'not';
  const staged = await stageForCustody(prepared);
  if (staged.warnings.length > 0 || savedTree !== staged.tree) return 'not';
  // In place a file that is too large stays where it is: our folder holds nothing of it.
  if (prepared.kind === 'in-place') return 'all';
  const kept = staged.oversized.length + (await findChangedIncluded(prepared)).length;
  if (kept > 0) return 'all-but-kept';
  return staged.isFirst === true ? 'untouched' : 'all';
}

/** Capabilities and inputs were only lent to the user's folder. */
async function takeOutLaid(prepared: PreparedWorkspace): Promise<void> {
  const { path, gitDir, baselineTree, limits } = prepared;
  const exclude = [...new Set([...NEVER_IN_PATCH, ...prepared.exclude])];
  const { tree } = await stageWorkspace({ workspace: path, gitDir, exclude, like: baselineTree, limits });
  await undoLaid({ workspace: path, gitDir, baselineTree }, tree);
}

/** To remove it takes no time that somebody would notice who waits for the run. */
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
): Promise<string[]> {
  const trashed: string[] = [];
  for (const { runId, attemptDir } of await listMoved(stateDir, seal)) {
    if (!isOver(runId) || findLiveProcesses(attemptDir).length > 0) continue;
    trashed.push(await moveToTrash({ attemptDir }, UNSAVED_MARK));
  }
  return trashed;
}

async function moveToTrash(
  { attemptDir }: Pick<PreparedWorkspace, 'attemptDir'>,
  mark: string,
): Promise<string> {
  const target = trashPlace({ attemptDir });
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await writeFile(join(attemptDir, 'trashed'), `${mark}\n`);
  await rename(attemptDir, target);
  return target;
}

async function readMark(path: string): Promise<string | null> {
  try {
    return (await readFile(join(path, 'trashed'), 'utf8')).trim();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

async function trashedAtMs(path: string): Promise<number> {
  try {
    return (await stat(join(path, 'trashed'))).mtimeMs;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
