/** Removal is a move into the trash (W2); only `gc` deletes, and only what has expired there. */
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
} from '@caisson/ground';

import { SAVED_TREE_FILE, stageForCustody, trashPlace } from './checkpoint.ts';
import type { PreparedWorkspace, RemoveResult } from './contract.ts';
import { findChangedIncluded } from './included-memory.ts';
import { findLiveProcesses } from './live-processes.ts';
import { readIfThere } from './locate-repository.ts';
import { listFolder } from './record.ts';

const SAVED_MARK = 'saved';
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
  if (prepared.kind === 'in-place' && saved !== 'not') await takeOutLaid(prepared);
  const isSaved = saved === 'all';
  return { kind: 'trashed', path: await moveToTrash(prepared, isSaved), isSaved };
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
    const ttlMs = (await isMarkedSaved(path))
      ? Math.min(options.savedTtlMs ?? DEFAULT_SAVED_TTL_MS, options.trashTtlMs)
      : options.trashTtlMs;
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

/** In place the files stay where they are; only our own folder goes, and the checkpoint is still owed. */
async function lookForUnsaved(prepared: PreparedWorkspace): Promise<'all' | 'all-but-kept' | 'not'> {
  const savedTree = await readIfThere(join(prepared.attemptDir, SAVED_TREE_FILE));
  if (savedTree === null) return 'not';
  const staged = await stageForCustody(prepared);
  if (staged.warnings.length > 0 || savedTree !== staged.tree) return 'not';
  // In place a file that is too large stays where it is: our folder holds nothing of it.
  if (prepared.kind === 'in-place') return 'all';
  const kept = staged.oversized.length + (await findChangedIncluded(prepared)).length;
  return kept === 0 ? 'all' : 'all-but-kept';
}

/** Capabilities and inputs were only lent to the user's folder. */
async function takeOutLaid(prepared: PreparedWorkspace): Promise<void> {
  const { path, gitDir, baselineTree, limits } = prepared;
  const exclude = [...new Set([...NEVER_IN_PATCH, ...prepared.exclude])];
  const { tree } = await stageWorkspace({ workspace: path, gitDir, exclude, like: baselineTree, limits });
  await undoLaid({ workspace: path, gitDir, baselineTree }, tree);
}

async function moveToTrash(prepared: PreparedWorkspace, isSaved: boolean): Promise<string> {
  const { attemptDir } = prepared;
  const target = trashPlace(prepared);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await writeFile(join(attemptDir, 'trashed'), `${isSaved ? SAVED_MARK : 'unsaved'}\n`);
  await rename(attemptDir, target);
  return target;
}

async function isMarkedSaved(path: string): Promise<boolean> {
  try {
    return (await readFile(join(path, 'trashed'), 'utf8')).trim() === SAVED_MARK;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
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
