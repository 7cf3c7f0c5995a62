/**
 * Applies a captured patch to the project's files.
 *
 * A1  The patch is computed on copies of the touched files; the project changes only when the outcome is known.
 * A2  Installing is all or nothing, also when the process dies in the middle of it (see install-files.ts).
 * A3  Only the files the patch touches are read; the user's index is read, never written.
 * A4  A file that differs from the patch's preimage is dirty when it also differs from HEAD, else it has moved on.
 * A6  Nothing is applied while a run works in place in the same folder.
 * A7  The table of risky paths judges what is about to be installed, from the files themselves.
 * A5  A file that is gone conflicts with any change to it; that both sides removed it is no conflict.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';

import {
  claimFolder,
  parsePatchHeaders,
  readIndexSummary,
  showPath,
  type Git,
  type PatchHeader,
  type Stamp,
} from '@caisson/ground';

import { isAlreadyThere } from './already-there.ts';
import {
  applyExactly,
  copyTouched,
  keyOf,
  openStaging,
  runApply,
  stageCopies,
  stageGone,
  touchedPaths,
  type ApplyPlace,
} from './apply-on-copies.ts';
import { mapAtOnce } from './at-once.ts';
import type { ApplyOptions, ApplyResult } from './contract.ts';
import { ensureOwnCustody } from './custody.ts';
import { FolderInUseError } from './errors.ts';
import { findUncommitted } from './find-dirty.ts';
import { readIndexFile } from './index-file.ts';
import { installFiles } from './install-files.ts';
import { hasPlan } from './install-plan.ts';
import { judgeInstall } from './judge-install.ts';
import { findRepository, type UserFolders } from './locate-repository.ts';
import { applyFolderPrefix, undoLeft, withApplyLock } from './recover-applies.ts';
import { blobIdOf, checkPath, listEntry, readEntry } from './work-file.ts';

/** The room's own dependencies. */
export interface ApplyMeans {
  readonly user: UserFolders;
  readonly stamp: Stamp;
  readonly userState: string;
}

type StampedOptions = ApplyOptions & Pick<ApplyMeans, 'stamp' | 'userState'>;

export async function applyPatch(
  given: ApplyOptions,
  { user, stamp, userState }: ApplyMeans,
): Promise<ApplyResult> {
  const options = { ...given, stamp, userState };
  const headers = parsePatchHeaders(options.patch);
  if (headers.length === 0) return { kind: 'applied', files: [] };
  return await withApplyLock(options.stateDir, async () => {
    for (const notice of await undoLeft(options)) options.onNotice?.(notice);
    return await applyHeaders(options, user, headers);
  });
}

async function applyHeaders(
  options: StampedOptions,
  user: UserFolders,
  headers: readonly PatchHeader[],
): Promise<ApplyResult> {
  const place = await findPlace(options, user);
  const claim = await claimFolder(place.root, 'caisson apply', options.userState); // A6
  if (claim.kind === 'taken') throw new FolderInUseError(place.root, claim.holder);
  try {
    return await applyInto(place, options, user, headers);
  } finally {
    claim.release();
  }
}

async function applyInto(
  place: ApplyPlace,
  options: StampedOptions,
  user: UserFolders,
  headers: readonly PatchHeader[],
): Promise<ApplyResult> {
  await mapAtOnce(touchedPaths(headers), (path) => checkPath(place.root, path));
  const { moved, gone } = await findMoved(place, headers);
  if (moved.length + gone.length > 0 && (await isAlreadyThere(place, headers)))
    return { kind: 'applied', files: [], already: 'there' };
  const dirty = options.force === true ? [] : await findDirty(place, moved, headers, user);
  if (dirty.length > 0) return { kind: 'dirty', files: dirty.map(showPath) };
  const missed = gone.filter((header) => header.newPath !== null);
  const restorable = missed.every((header) => header.oldId !== null);
  const isRefused =
    (moved.length > 0 && !options.threeWay) ||
    (missed.length > 0 && !(options.leaveConflicts === true && options.threeWay && restorable));
  if (isRefused) return conflictsIn([...moved, ...pathsOf(missed)], false);
  return await applyOnCopies(options, place, headers, gone, moved.length > 0);
}

function conflictsIn(paths: readonly Buffer[], areMarkersLeft: boolean): ApplyResult {
  const names = new Set(paths.map(showPath));
  return { kind: 'conflicts', files: [...names], areMarkersLeft };
}

async function findPlace(options: ApplyOptions, user: UserFolders): Promise<ApplyPlace> {
  const repository = await findRepository(options.projectRoot, user);
  if (repository !== null) {
    const { top, objectFormat, objectDir } = repository;
    return { root: top, repository, objectFormat, objectDir };
  }
  const custody = await ensureOwnCustody(options.stateDir, 'sha1');
  return {
    root: await realpath(options.projectRoot),
    repository: null,
    objectFormat: 'sha1',
    objectDir: join(custody, 'objects'),
  };
}

interface Moved {
  /** Files that exist, and differ from what the patch expects. */
  readonly moved: readonly Buffer[];
  /** Parts of the patch whose file is gone (A5). */
  readonly gone: readonly PatchHeader[];
}

async function findMoved(place: ApplyPlace, headers: readonly PatchHeader[]): Promise<Moved> {
  const leaving = headers.filter(
    ({ oldPath, newPath }) => newPath === null || oldPath?.equals(newPath) === false,
  );
  const freed = new Set(leaving.map((header) => keyOf(header.oldPath)));
  const found = await mapAtOnce(headers, async (header) => {
    const { oldPath, newPath, oldId, oldMode } = header;
    const moved: Buffer[] = [];
    if (oldMode === '160000') return { moved, gone: [] };
    const present = oldPath === null ? null : await blobIdOf(place.root, oldPath, place.objectFormat);
    if (oldPath !== null && present !== null && oldId !== null && present !== oldId) moved.push(oldPath);
    const isNewName = newPath !== null && (oldPath === null || !oldPath.equals(newPath));
    if (isNewName && !freed.has(keyOf(newPath)) && (await isTaken(place.root, newPath, freed)))
      moved.push(newPath);
    return { moved, gone: oldPath !== null && present === null ? [header] : [] };
  });
  return { moved: found.flatMap((one) => one.moved), gone: found.flatMap((one) => one.gone) };
}

/** Something exists there, and it is not a folder that the patch empties. */
async function isTaken(root: string, path: Buffer, freed: ReadonlySet<string>): Promise<boolean> {
  const entry = await readEntry(root, path);
  if (entry === null || !entry.isDirectory()) return entry !== null;
  for (const name of await listEntry(root, path)) {
    const inner = Buffer.concat([path, Buffer.from('/'), name]);
    if (!freed.has(keyOf(inner)) && (await isTaken(root, inner, freed))) return true;
  }
  return false;
}

/** A4, and files in the middle of a merge. */
async function findDirty(
  place: ApplyPlace,
  moved: readonly Buffer[],
  headers: readonly PatchHeader[],
  user: UserFolders,
): Promise<Buffer[]> {
  const conflicted = await findConflicted(place, headers);
  const changed = place.repository === null ? moved : await findUncommitted(place.root, moved, user);
  return [...changed, ...conflicted.filter((path) => !changed.some((other) => other.equals(path)))];
}

async function findConflicted(place: ApplyPlace, headers: readonly PatchHeader[]): Promise<Buffer[]> {
  if (place.repository === null) return [];
  const found = await readIndexFile(join(place.repository.gitDir, 'index'));
  if (found === null) return [];
  const summary = readIndexSummary(found.bytes, place.objectFormat === 'sha256' ? 32 : 20);
  const conflicted = new Set(summary.conflicts.map(keyOf));
  return touchedPaths(headers).filter((path) => conflicted.has(keyOf(path)));
}

async function applyOnCopies(
  options: StampedOptions,
  place: ApplyPlace,
  headers: readonly PatchHeader[],
  gone: readonly PatchHeader[],
  hasMoved: boolean,
): Promise<ApplyResult> {
  const folder = await mkdtemp(applyFolderPrefix(options.stateDir));
  try {
    const staging = join(folder, 'files');
    const git = await openStaging(place, folder, staging);
    const names = await copyTouched(place, staging, headers);
    const isExact = !hasMoved && gone.length === 0 && (await applyExactly(git, options.patch));
    const unmerged = isExact ? [] : await merge(git, options, names, headers, gone);
    const conflicts = [...unmerged, ...pathsOf(gone.filter((header) => header.newPath !== null))];
    if (conflicts.length > 0 && options.leaveConflicts !== true) return conflictsIn(conflicts, false);
    const files = touchedPaths(headers);
    const refused = await judgeInstall(options, place, staging, files); // A7
    if (refused !== null) return refused;
    await installFiles({ root: place.root, staging, folder, paths: files, stamp: options.stamp });
    return conflicts.length > 0
      ? conflictsIn(conflicts, true)
      : { kind: 'applied', files: files.map(showPath) };
  } finally {
    // A remaining plan could not be undone completely: it contains contents of the user.
    if (!hasPlan(folder)) await rm(folder, { recursive: true, force: true });
  }
}

async function merge(
  git: Git,
  options: ApplyOptions,
  names: readonly Buffer[],
  headers: readonly PatchHeader[],
  gone: readonly PatchHeader[],
): Promise<Buffer[]> {
  await stageCopies(git, names, headers);
  await stageGone(git, gone);
  return await runApply(git, options);
}

/** The readable name of the changed file. */
function pathsOf(headers: readonly PatchHeader[]): Buffer[] {
  return headers.map((header) => header.oldPath).filter((path) => path !== null);
}
