/**
 * The trash: where removed workspaces lie until they expire (W2). Only `emptyTrash` deletes.
 *
 * A folder that is to be deleted is renamed first, so that of two processes one deletes and reports it. Its mark goes
 * last: what a killed process leaves of it is deleted by the next one.
 */
import { statSync } from 'node:fs';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isErrno, makeFolder, measureTree, removeTree, statIfThere, type Stamp } from '@caisson/ground';
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

/** What a process, whose id it has, has begun to delete. */
const DOOMED = /^(.+)\.(\d+)\.deleted$/;

/** Deletes what has expired, and the oldest of what is too much; the only copy of something never goes by itself (W2). */
export async function emptyTrash(options: EmptyTrashOptions & { nowMs: number }): Promise<EmptiedTrash> {
  const { oldest = Infinity } = options;
  const entries = (await listTrash(options.stateDir)).filter(({ path }) => !isBeingDeleted(path));
  const judged = new Map<string, DeletionReason | null>();
  for (const entry of entries) {
    const verdict = await judge(entry, options);
    if (verdict !== 'kept') judged.set(entry.path, verdict);
  }
  const rest = entries.filter(({ path, mark }) => !judged.has(path) && mark !== 'unsaved');
  for (const path of await findOverLimit(rest, options.trashBytes)) judged.set(path, 'size');
  const deleted: DeletedTrash[] = [];
  for (const { path } of entries) {
    const why = judged.get(path);
    if (why === undefined || deleted.length >= oldest) continue;
    const gone = await deleteTrashed(path, why, options);
    if (gone !== null) deleted.push(gone);
  }
  return {
    deleted,
    kept: entries.filter(({ path, mark }) => mark === 'unsaved' && !judged.has(path)).map(({ path }) => path),
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
async function judge(
  { path, mark, sinceMs }: Entry,
  { nowMs, trashTtlMs, heldBackTtlMs = Infinity }: EmptyTrashOptions & { nowMs: number },
): Promise<DeletionReason | null | 'kept'> {
  const ageMs = nowMs - sinceMs;
  if (DOOMED.test(path)) return mark === 'unsaved' ? 'asked' : 'age'; // its process was killed
  if (mark === 'untouched') return null;
  if (mark === 'unsaved') {
    if (await isEmptied(path)) return null;
    return ageMs >= heldBackTtlMs ? 'asked' : 'kept';
  }
  if (mark === 'saved' && !(await thinTrashed(path).catch(() => true))) return null;
  return ageMs >= trashTtlMs ? 'age' : 'kept';
}

/** By a process that is alive. */
function isBeingDeleted(path: string): boolean {
  const pid = DOOMED.exec(path)?.[2];
  return pid !== undefined && statIfThere(`/proc/${pid}`, 'itself') !== null;
}

/** The newest that fit stay; a file with names in several folders counts for the newest of them. */
async function findOverLimit(entries: readonly Entry[], maxBytes = Infinity): Promise<string[]> {
  if (maxBytes === Infinity) return [];
  const seen = new Set<string>();
  let bytes = 0;
  const tooMuch: string[] = [];
  for (const { path } of entries.toReversed()) {
    bytes += await measureTree(path, seen);
    if (bytes > maxBytes) tooMuch.push(path);
  }
  return tooMuch;
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
  path: string,
  why: DeletionReason | null,
  { onDeleted }: EmptyTrashOptions,
): Promise<DeletedTrash | null> {
  const place = DOOMED.exec(path)?.[1] ?? path;
  const doomed = await claim(path, `${place}.${process.pid}.deleted`);
  if (doomed === null) return null;
  const runId = basename(place).split('.', 1)[0] ?? '';
  const deleted = { path: place, runId, bytes: await measureTree(doomed, null), why };
  await removeTrashed(doomed, async () => {
    if (why !== null) await onDeleted?.(deleted);
  });
  return deleted;
}

async function claim(path: string, doomed: string): Promise<string | null> {
  try {
    await rename(path, doomed);
    return doomed;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/** The mark goes last: what a crash leaves of the folder still says why it is here. */
export async function removeTrashed(path: string, beforeLast = async (): Promise<void> => {}): Promise<void> {
  const names = await listFolder(path).catch(() => []); // it may be a file
  for (const name of names) if (name !== MARK_FILE) await removeTree(join(path, name));
  await beforeLast();
  await removeTree(path);
}

async function readMark(path: string): Promise<TrashMark> {
  const text = (await readIfThere(join(path, MARK_FILE)))?.trim();
  return text === 'saved' || text === 'unused' || text === 'untouched' ? text : 'unsaved';
}
