/**
 * The trash: where removed workspaces lie until they expire (W2). Only `emptyTrash` deletes.
 *
 * A folder that is to be deleted is renamed first, so that of two processes one deletes and reports it; the name has the
 * reason and the process. Its mark goes last: what a killed process leaves of it is deleted by the next one. How much it
 * takes is measured once, and written beside the mark.
 */
import { statSync } from 'node:fs';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  explainError,
  isErrno,
  isSameProcess,
  makeFolder,
  measureTree,
  readProcess,
  removeTree,
  statIfThere,
  type Stamp,
} from '@caisson/ground';
import type { MovedWorkspace, PreparedWorkspace, Workspaces } from './contract.ts';
import { findLiveProcesses } from './live-processes.ts';
import { readIfThere } from './locate-repository.ts';
import { listFolder, listMoved } from './record.ts';
import { thinTrashed } from './thin-trash.ts';
import {
  MARK_FILE,
  type DeletedTrash,
  type DeletionReason,
  type EmptiedTrash,
  type EmptyTrashOptions,
  type TrashMark,
} from './trash-contract.ts';

/** The place, the reason, and the process by its id and start time. */
const BEING_DELETED = /^(.+)\.(age|size|asked|empty)\.(\d+)-(\d+)\.deleted$/;
const BYTES_FILE = 'trashed-bytes';

/** Deletes what has expired, and the oldest of what is too much; the only copy of something never goes by itself (W2). */
export async function emptyTrash(options: EmptyTrashOptions & { nowMs: number }): Promise<EmptiedTrash> {
  const { oldest = Infinity, onlySize = false } = options;
  const entries = (await listTrash(options.stateDir)).filter(({ path }) => !isBeingDeleted(path));
  const decided = new Map<string, DeletionReason | null>();
  for (const entry of onlySize ? [] : entries) {
    const decision = await decideDeletion(entry, options);
    if (decision !== 'kept') decided.set(entry.path, decision);
  }
  const rest = entries.filter(({ path, mark }) => !decided.has(path) && mark !== 'unsaved');
  for (const path of await findOverLimit(rest, options)) decided.set(path, 'size');
  const deleted: DeletedTrash[] = [];
  for (const entry of entries) {
    const why = decided.get(entry.path);
    if (why === undefined || deleted.length >= oldest) continue;
    const gone = await deleteTrashed(entry, why, options);
    if (gone !== null) deleted.push(gone);
  }
  return {
    deleted,
    kept: entries
      .filter(({ path, mark }) => mark === 'unsaved' && !decided.has(path))
      .map(({ path }) => path),
  };
}

interface Entry {
  readonly path: string;
  readonly mark: TrashMark;
  readonly sinceMs: number;
}

/** The trash, oldest first, and what was held back from it. A folder of unknown age is kept. */
async function listTrash(stateDir: string): Promise<Entry[]> {
  const found: Entry[] = [];
  const trash = join(stateDir, 'trash');
  for (const path of (await listFolder(trash)).toSorted().map((name) => join(trash, name)))
    // ids sort by time
    found.push({ path, mark: await readMark(path), sinceMs: changedAtMs(join(path, MARK_FILE)) });
  const aside = join(stateDir, 'held-back');
  for (const path of (await listFolder(aside)).toSorted().map((name) => join(aside, name)))
    found.push({ path, mark: 'unsaved', sinceMs: changedAtMs(path) });
  return found;
}

function changedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
}

/** Why it is to be deleted; null for one with nothing in it. */
async function decideDeletion(
  { path, mark, sinceMs }: Entry,
  { nowMs, trashTtlMs, heldBackTtlMs = Infinity, onProblem }: EmptyTrashOptions & { nowMs: number },
): Promise<DeletionReason | null | 'kept'> {
  const ageMs = nowMs - sinceMs;
  const begun = BEING_DELETED.exec(path)?.[2]; // its process was killed
  if (begun !== undefined) return begun === 'empty' ? null : (begun as DeletionReason);
  if (mark === 'untouched') return null;
  if (mark === 'unsaved') {
    if (await isEmptied(path)) return null;
    return ageMs >= heldBackTtlMs ? 'asked' : 'kept';
  }
  if (mark === 'saved' && !(await keepsSomething(path, onProblem))) return null;
  return ageMs >= trashTtlMs ? 'age' : 'kept';
}

/** A folder that cannot be thinned is kept whole. */
export async function keepsSomething(
  path: string,
  onProblem: EmptyTrashOptions['onProblem'],
): Promise<boolean> {
  try {
    return await thinTrashed(path);
  } catch (error) {
    onProblem?.(`${path} is kept whole until it expires: ${explainError(error).slice(0, 500)}`);
    return true;
  }
}

/** By a process that is alive. */
function isBeingDeleted(path: string): boolean {
  const [, , , pid, startTime = ''] = BEING_DELETED.exec(path) ?? [];
  return pid !== undefined && isSameProcess(Number(pid), startTime);
}

/** The newest that fit stay, also beside one that alone is too large. */
async function findOverLimit(
  entries: readonly Entry[],
  { trashBytes = Infinity, onlySize = false }: EmptyTrashOptions,
): Promise<string[]> {
  if (trashBytes === Infinity) return [];
  let bytes = 0;
  const tooMuch: string[] = [];
  for (const { path } of entries.toReversed()) {
    const own = onlySize ? ((await readBytes(path)) ?? 0) : await measureTrashed(path);
    if (bytes + own > trashBytes) tooMuch.push(path);
    else bytes += own;
  }
  return tooMuch;
}

/** Reads every file's size the first time only. */
export async function measureTrashed(path: string): Promise<number> {
  const known = await readBytes(path);
  if (known !== null) return known;
  const bytes = await measureTree(path);
  await writeFile(join(path, BYTES_FILE), `${bytes}\n`).catch(() => {}); // another process deletes it, or the disk is full
  return bytes;
}

/** Null: it was not measured yet. */
async function readBytes(path: string): Promise<number | null> {
  const text = (await readIfThere(join(path, BYTES_FILE)))?.trim() ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The user has taken every file that was held back. */
async function isEmptied(path: string): Promise<boolean> {
  if (statIfThere(path, 'itself')?.isDirectory() !== true) return false;
  for (const name of await readdir(path)) if (!(await isEmptied(join(path, name)))) return false;
  return true;
}

export async function trashMoved(
  stateDir: string,
  stamp: Stamp,
  isOver: (runId: string) => boolean,
): ReturnType<Workspaces['trashMoved']> {
  const trashed: (MovedWorkspace & { trashed: string })[] = [];
  for (const moved of await listMoved(stateDir, stamp)) {
    if (!isOver(moved.runId) || findLiveProcesses(moved.attemptDir).length > 0) continue;
    trashed.push({ ...moved, trashed: await moveToTrash(moved, 'unsaved') });
  }
  return trashed;
}

/** Resolves with where the folder is now. */
export async function moveToTrash(
  { attemptDir }: Pick<PreparedWorkspace, 'attemptDir'>,
  mark: TrashMark,
): Promise<string> {
  const target = join(dirname(dirname(attemptDir)), 'trash', basename(attemptDir));
  makeFolder(dirname(target));
  await writeFile(join(attemptDir, MARK_FILE), `${mark}\n`);
  await rename(attemptDir, target);
  return target;
}

/** Deletes a folder that has nothing to keep. Out of its place first: half of it must never look like an agent's work. */
export async function removeAtOnce(prepared: Pick<PreparedWorkspace, 'attemptDir'>): Promise<void> {
  await removeTrashed(await moveToTrash(prepared, 'untouched'));
}

/** Null: another process was faster. */
async function deleteTrashed(
  { path, mark }: Entry,
  why: DeletionReason | null,
  { onDeleted }: EmptyTrashOptions,
): Promise<DeletedTrash | null> {
  const place = BEING_DELETED.exec(path)?.[1] ?? path;
  const owner = `${process.pid}-${readProcess(process.pid)?.startTime ?? '0'}`;
  const claimed = await claim(path, `${place}.${why ?? 'empty'}.${owner}.deleted`);
  if (claimed === null) return null;
  const runId = basename(place).split('.', 1)[0] ?? '';
  // What is held back may have files of any name.
  const bytes = mark === 'unsaved' ? await measureTree(claimed) : await measureTrashed(claimed);
  const deleted = { path: place, runId, bytes, why };
  await removeTrashed(claimed, async () => {
    if (why !== null) await onDeleted?.(deleted);
  });
  return deleted;
}

async function claim(path: string, claimed: string): Promise<string | null> {
  try {
    await rename(path, claimed);
    return claimed;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/** The mark goes last: what a crash leaves of the folder still says why it is here. */
export async function removeTrashed(path: string, beforeLast = async (): Promise<void> => {}): Promise<void> {
  const names = await listFolder(path).catch(() => []); // it may be a file
  for (const name of names) if (name !== MARK_FILE && name !== BYTES_FILE) await removeTree(join(path, name));
  await beforeLast();
  await removeTree(path);
}

/** Nothing else has what is in this folder of the trash: it does not expire. */
export async function isOnlyCopy(path: string): Promise<boolean> {
  return (await readMark(path)) === 'unsaved';
}

async function readMark(path: string): Promise<TrashMark> {
  const text = (await readIfThere(join(path, MARK_FILE)))?.trim();
  return text === 'saved' || text === 'unused' || text === 'untouched' ? text : 'unsaved';
}
