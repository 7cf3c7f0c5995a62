/** The trash: where removed workspaces lie until they expire (W2). Only `emptyTrash` deletes. */
import { statSync } from 'node:fs';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder, removeTree, statIfThere, type Stamp } from '@caisson/ground';
import type { MovedWorkspace, PreparedWorkspace, Workspaces } from './contract.ts';
import { findLiveProcesses } from './live-processes.ts';
import { readIfThere } from './locate-repository.ts';
import { listFolder, listMoved } from './record.ts';

/** Why a folder is in the trash; without a mark it counts as unsaved. */
export type TrashMark =
  /** A checkpoint has all of it. */
  | 'saved'
  /** Nothing was done in it: it waits only to be removed when there is time. */
  | 'untouched'
  /** No agent has run in it. */
  | 'unused'
  /** Nothing else has it. */
  | 'unsaved';
const MARK_FILE = 'trashed';
const DEFAULT_SAVED_TTL_MS = 10 * 60_000;

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
    await removeTrashed(path);
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
  const target = trashPlace({ attemptDir });
  makeFolder(dirname(target));
  await writeFile(join(attemptDir, MARK_FILE), `${mark}\n`);
  await rename(attemptDir, target);
  return target;
}

/** Deletes a folder that has nothing to keep. Out of its place first: half of it must never look like an agent's work. */
export async function removeAtOnce(prepared: Pick<PreparedWorkspace, 'attemptDir'>): Promise<void> {
  await removeTrashed(await moveToTrash(prepared, 'untouched'));
}

/** The mark goes last: what a crash leaves of the folder still says why it is here. */
async function removeTrashed(path: string): Promise<void> {
  const names = await listFolder(path).catch(() => []); // it may be a file
  for (const name of names) if (name !== MARK_FILE) await removeTree(join(path, name));
  await removeTree(path);
}

async function readMark(path: string): Promise<TrashMark> {
  const text = (await readIfThere(join(path, MARK_FILE)))?.trim();
  return text === 'saved' || text === 'unused' || text === 'untouched' ? text : 'unsaved';
}

/** Where the removal moves an attempt's folder. */
function trashPlace({ attemptDir }: Pick<PreparedWorkspace, 'attemptDir'>): string {
  return join(dirname(dirname(attemptDir)), 'trash', basename(attemptDir));
}
