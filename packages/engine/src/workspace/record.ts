/** The record beside a workspace: what a later host needs to checkpoint and remove it. */
import { readdir, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import {
  createOwnGitDir,
  ifErrno,
  isErrno,
  statIfThere,
  writeFileAtomic,
  type OwnGitDirOptions,
  type Stamp,
} from '@caisson/ground';

import { PreparedWorkspace, type MovedWorkspace, type RecoverableWorkspace } from './contract.ts';
import { syncIfThere } from './sync-objects.ts';

const RECORD = 'record.json';
const FOLDER = /^(.+)\.(\d+)$/;

export function attemptFolder(stateDir: string, runId: string, attempt: number): string {
  return join(stateDir, 'worktrees', `${runId}.${attempt}`);
}

export async function writeRecord(prepared: PreparedWorkspace, stamp: Stamp): Promise<void> {
  const stamped = stamp.wrap(purposeOf(prepared.attemptDir), JSON.stringify(prepared));
  await writeFileAtomic(join(prepared.attemptDir, RECORD), stamped, { durable: false }); // see `restoreAttempt`
}

/**
 * What a later host needs to save the files, and cannot make again (`restoreAttempt`). The agent syncs the files
 * themselves.
 */
export async function syncAttempt(prepared: PreparedWorkspace): Promise<void> {
  const { attemptDir, gitDir } = prepared;
  const folders = isGitDirAsMade(prepared) ? [attemptDir] : [attemptDir, gitDir, join(gitDir, 'info')];
  const listed = await Promise.all(folders.map((folder) => readdir(folder, { withFileTypes: true })));
  const files = listed.flat().filter((entry) => entry.isFile() && entry.name !== RECORD);
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  await Promise.all([...paths, ...folders, dirname(attemptDir)].map(syncIfThere));
}

/** Makes again what `syncAttempt` left out, for an attempt whose workspace the ledger has. */
export async function restoreAttempt(prepared: PreparedWorkspace, stamp: Stamp): Promise<void> {
  if (statIfThere(prepared.attemptDir, 'itself') === null) return; // removed by then
  await writeRecord(prepared, stamp);
  if (isGitDirAsMade(prepared)) await createOwnGitDir(gitDirOfOwnFolder(prepared));
}

/** Whether it holds nothing at the start that is not the same for every attempt: no index, no ignore rules. */
function isGitDirAsMade({ kind, startTree }: PreparedWorkspace): boolean {
  return kind === 'empty' && startTree === undefined;
}

/** Our git dir of a workspace outside of the user's repository. */
export function gitDirOfOwnFolder({
  gitDir,
  custodyDir,
}: Pick<PreparedWorkspace, 'gitDir' | 'custodyDir'>): OwnGitDirOptions {
  return { path: gitDir, objectFormat: 'sha1', objectDir: join(custodyDir, 'objects') };
}

/**
 * Every attempt folder of ours that was never removed; run ids sort by time. One with a foreign record is not touched.
 */
export async function listRecoverable(stateDir: string, stamp: Stamp): Promise<RecoverableWorkspace[]> {
  const names = await listFolder(join(stateDir, 'worktrees'));
  const found = names.toSorted().flatMap((name) => {
    const match = FOLDER.exec(name);
    return match === null ? [] : [{ name, runId: match[1] ?? '', attempt: Number(match[2]) }];
  });
  const listed = await Promise.all(
    found.map(async ({ name, runId, attempt }) => {
      const attemptDir = join(stateDir, 'worktrees', name);
      return { runId, attempt, attemptDir, prepared: await readRecord(attemptDir, stamp) };
    }),
  );
  const isOurs: boolean[] = await Promise.all(
    listed.map(async ({ prepared }) => {
      return prepared === null || (prepared !== 'foreign' && (await isWithinState(prepared, stateDir)));
    }),
  );
  return listed.filter((_, index) => isOurs[index]) as RecoverableWorkspace[];
}

/** Our attempt folders that were moved, with the whole state folder, since their record was written. */
export async function listMoved(stateDir: string, stamp: Stamp): Promise<MovedWorkspace[]> {
  const found: MovedWorkspace[] = [];
  for (const name of await listFolder(join(stateDir, 'worktrees'))) {
    const attemptDir = join(stateDir, 'worktrees', name);
    const prepared = await readRecord(attemptDir, stamp);
    if (prepared === null || prepared === 'foreign') continue;
    const { runId, attemptDir: from } = prepared;
    if (from !== (await toReal(attemptDir))) found.push({ runId, attemptDir, from });
  }
  return found;
}

/**
 * Whether the paths of an attempt stay in its own folder. Removing, saving and capturing follow these paths: ones that
 * lead elsewhere are a mistake, or an attack.
 */
export async function isWithinState(prepared: PreparedWorkspace, stateDir: string): Promise<boolean> {
  const own = attemptFolder(await toReal(stateDir), prepared.runId, prepared.attempt);
  const isBelow = (path: string): boolean => path.startsWith(`${own}/`) && !path.split('/').includes('..');
  const isInPlace = prepared.kind === 'in-place';
  return prepared.attemptDir === own && isBelow(prepared.gitDir) && (isInPlace || isBelow(prepared.path));
}

async function toReal(path: string): Promise<string> {
  return await realpath(path).catch(() => path);
}

/** Codes of a record that no later try will read. */
const UNREADABLE = ['EACCES', 'EPERM', 'EISDIR', 'ENOTDIR', 'ELOOP'];

/** Null when the host died before the workspace was ready; `foreign` when we did not write it, or it cannot be read. */
async function readRecord(attemptDir: string, stamp: Stamp): Promise<PreparedWorkspace | 'foreign' | null> {
  try {
    const text = await readFile(join(attemptDir, RECORD), 'utf8');
    const record = stamp.unwrap(purposeOf(attemptDir), text);
    return record === null ? 'foreign' : PreparedWorkspace.parse(JSON.parse(record));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    const isFileFailure = error instanceof Error && 'syscall' in error;
    if (!isFileFailure || UNREADABLE.some((code) => isErrno(error, code))) return 'foreign';
    throw error;
  }
}

function purposeOf(attemptDir: string): string {
  return `workspace:${basename(attemptDir)}`;
}

export async function listFolder(path: string): Promise<string[]> {
  return await readdir(path).catch(ifErrno([], 'ENOENT'));
}
