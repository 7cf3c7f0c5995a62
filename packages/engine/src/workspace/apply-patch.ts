/**
 * Brings a captured patch into the project's files.
 *
 * A1  The patch is worked out on copies of the touched files; the project changes only when the outcome is known.
 * A2  Installing is all or nothing: what was there is moved aside first and put back on any failure.
 * A3  Only the files the patch touches are looked at; the user's index is read, never written.
 * A4  A file that differs from the patch's preimage is dirty when it also differs from HEAD, else it has moved on.
 */
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

import {
  createGit,
  createOwnGitDir,
  parsePatchHeaders,
  readIndexSummary,
  showPath,
  type Git,
  type ObjectFormat,
  type PatchHeader,
} from '@caisson/ground';

import type { ApplyOptions, ApplyResult } from './contract.ts';
import { custodyGit, ensureOwnCustody } from './custody.ts';
import { WorkspaceError } from './errors.ts';
import { installFiles } from './install-files.ts';
import { findRepository, readIfThere, type Repository, type UserFolders } from './locate-repository.ts';
import { blobIdOf, checkPath, copyEntry, pathIn, readEntry } from './work-file.ts';

interface ApplyPlace {
  readonly root: string;
  readonly repository: Repository | null;
  readonly objectFormat: ObjectFormat;
  readonly objectDir: string;
}

export async function applyPatch(options: ApplyOptions, user: UserFolders): Promise<ApplyResult> {
  const headers = parsePatchHeaders(options.patch);
  if (headers.length === 0) return { kind: 'applied', files: [] };
  const place = await findPlace(options, user);
  for (const path of touchedPaths(headers)) await checkPath(place.root, path);

  const moved = await findMoved(place, headers);
  const dirty = options.force === true ? [] : await findDirty(place, moved, headers);
  if (dirty.length > 0) return { kind: 'dirty', files: dirty.map(showPath) };
  if (moved.length > 0 && !options.threeWay) {
    return { kind: 'conflicts', files: moved.map(showPath), areMarkersLeft: false };
  }
  return await applyOnCopies(options, place, headers);
}

async function findPlace(options: ApplyOptions, user: UserFolders): Promise<ApplyPlace> {
  const repository = await findRepository(options.projectRoot, user);
  if (repository !== null) {
    const { top, objectFormat, objectDir } = repository;
    return { root: top, repository, objectFormat, objectDir };
  }
  const custody = await ensureOwnCustody(options.stateDir, 'sha1');
  return {
    root: options.projectRoot,
    repository: null,
    objectFormat: 'sha1',
    objectDir: join(custody, 'objects'),
  };
}

/** Files that are not as the patch expects them. */
async function findMoved(place: ApplyPlace, headers: readonly PatchHeader[]): Promise<Buffer[]> {
  const leaving = headers.filter(
    ({ oldPath, newPath }) => newPath === null || oldPath?.equals(newPath) === false,
  );
  const freed = new Set(leaving.map((header) => keyOf(header.oldPath)));
  const moved: Buffer[] = [];
  for (const { oldPath, newPath, oldId, oldMode } of headers) {
    if (oldMode === '160000') continue;
    if (oldPath !== null) {
      const present = await blobIdOf(place.root, oldPath, place.objectFormat);
      if (present === null || (oldId !== null && present !== oldId)) moved.push(oldPath);
    }
    const isNewName = newPath !== null && (oldPath === null || !oldPath.equals(newPath));
    if (isNewName && !freed.has(keyOf(newPath)) && (await isTaken(place.root, newPath, freed)))
      moved.push(newPath);
  }
  return moved;
}

/** Something is there, and it is not a folder that the patch empties. */
async function isTaken(root: string, path: Buffer, freed: ReadonlySet<string>): Promise<boolean> {
  const entry = await readEntry(root, path);
  if (entry === null || !entry.isDirectory()) return entry !== null;
  for (const name of await readdir(pathIn(root, path), { encoding: 'buffer' })) {
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
): Promise<Buffer[]> {
  const conflicted = await findConflicted(place, headers);
  if (place.repository === null) return [...moved, ...conflicted];
  const committed = await readCommittedIds(place.repository, moved);
  const changed: Buffer[] = [];
  for (const [index, path] of moved.entries()) {
    const present = await blobIdOf(place.root, path, place.objectFormat);
    if (present !== null && present !== committed[index]) changed.push(path);
  }
  return [...changed, ...conflicted.filter((path) => !changed.some((other) => other.equals(path)))];
}

async function findConflicted(place: ApplyPlace, headers: readonly PatchHeader[]): Promise<Buffer[]> {
  if (place.repository === null) return [];
  const file = join(place.repository.gitDir, 'index');
  if ((await readIfThere(file)) === null) return [];
  const summary = readIndexSummary(await readFile(file), place.objectFormat === 'sha256' ? 32 : 20);
  const conflicted = new Set(summary.conflicts.map(keyOf));
  return touchedPaths(headers).filter((path) => conflicted.has(keyOf(path)));
}

async function readCommittedIds(
  repository: Repository,
  paths: readonly Buffer[],
): Promise<(string | null)[]> {
  const { headCommit } = repository;
  if (headCommit === null || paths.length === 0) return paths.map(() => null);
  const asked = paths.map((path) => Buffer.concat([Buffer.from(`${headCommit}:`), path, Buffer.from('\n')]));
  const git = custodyGit(repository.gitDir);
  const { stdout } = await git.run(['cat-file', '--batch-check=%(objectname)'], {
    stdin: Buffer.concat(asked),
  });
  const answers = stdout.toString('latin1').split('\n');
  return paths.map((_path, index) =>
    /^[0-9a-f]+$/.test(answers[index] ?? '') ? (answers[index] ?? null) : null,
  );
}

async function applyOnCopies(
  options: ApplyOptions,
  place: ApplyPlace,
  headers: readonly PatchHeader[],
): Promise<ApplyResult> {
  const temporary = join(options.stateDir, 'tmp');
  await mkdir(temporary, { recursive: true });
  const folder = await mkdtemp(join(temporary, 'apply-'));
  try {
    const staging = join(folder, 'files');
    const git = await openStaging(place, folder, staging);
    await stageTouched(git, place, staging, headers);
    const conflicts = await runApply(git, options);
    const files = touchedPaths(headers);
    if (conflicts.length > 0 && options.leaveConflicts !== true) {
      return { kind: 'conflicts', files: conflicts.map(showPath), areMarkersLeft: false };
    }
    await installFiles({ root: place.root, staging, backup: join(folder, 'backup'), paths: files });
    return conflicts.length > 0
      ? { kind: 'conflicts', files: conflicts.map(showPath), areMarkersLeft: true }
      : { kind: 'applied', files: files.map(showPath) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function openStaging(place: ApplyPlace, folder: string, staging: string): Promise<Git> {
  const gitDir = join(folder, 'git');
  await mkdir(staging);
  await createOwnGitDir({ path: gitDir, objectFormat: place.objectFormat, objectDir: place.objectDir });
  return createGit({ cwd: staging, gitDir, workTree: staging, timeoutMs: 300_000 });
}

async function stageTouched(
  git: Git,
  place: ApplyPlace,
  staging: string,
  headers: readonly PatchHeader[],
): Promise<void> {
  const links = headers.filter((header) => header.oldMode === '160000' && header.oldPath !== null);
  const linkPaths = new Set(links.map((header) => keyOf(header.oldPath)));
  const names: Buffer[] = [];
  for (const path of touchedPaths(headers)) {
    if (linkPaths.has(keyOf(path))) continue;
    if (await copyEntry(pathIn(place.root, path), pathIn(staging, path))) names.push(path);
  }
  const nul = Buffer.from('\0');
  const list = Buffer.concat(names.flatMap((name) => [name, nul]));
  await git.run(['update-index', '--add', '-z', '--stdin'], { stdin: list });
  if (links.length === 0) return;
  const entries = links.flatMap(({ oldId, oldPath }) => [
    Buffer.from(`160000 ${oldId}\t`),
    oldPath ?? nul,
    nul,
  ]);
  await git.run(['update-index', '-z', '--index-info'], { stdin: Buffer.concat(entries) });
}

/** The conflicting paths; none when the patch went in. */
async function runApply(git: Git, options: ApplyOptions): Promise<Buffer[]> {
  const mode = options.threeWay ? ['--3way'] : [];
  const applied = await git.run(['apply', '--index', ...mode, '--whitespace=nowarn', '-'], {
    stdin: options.patch,
    okExitCodes: [0, 1, 128],
  });
  if (applied.exitCode === 0) return [];
  const { stdout } = await git.run(['ls-files', '-u', '-z']);
  const keys = stdout
    .toString('latin1')
    .split('\0')
    .filter((entry) => entry !== '');
  const conflicts = new Set(keys.map((entry) => entry.slice(entry.indexOf('\t') + 1)));
  if (conflicts.size > 0) return [...conflicts].map((key) => Buffer.from(key, 'latin1'));
  throw new WorkspaceError(`The patch does not apply to ${options.projectRoot}: ${applied.stderr.trim()}`, {
    remedy:
      'Nothing was changed. Look at the patch with `caisson diff`, or check out the commit it was made from.',
  });
}

function touchedPaths(headers: readonly PatchHeader[]): Buffer[] {
  const paths = headers.flatMap((header) => [header.oldPath, header.newPath]).filter((path) => path !== null);
  return [...new Map(paths.map((path) => [keyOf(path), path])).values()];
}

function keyOf(path: Buffer | null): string {
  return path?.toString('latin1') ?? '';
}
