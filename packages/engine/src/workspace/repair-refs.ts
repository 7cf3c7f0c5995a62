/**
 * Our refs that a power cut broke or removed. Git refuses to collect garbage or to list a history as long as a broken
 * one exists, so repairing them helps the user as well.
 * P1  What a ref is known to name replaces it in one step; it is removed only if nothing is known.
 * P2  A ref that another process writes meanwhile belongs to that process.
 */
import { open, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { isErrno, statIfThere, syncPath, type Git } from '@caisson/ground';

import { removeLeftKeeps } from './beside-gc.ts';
import { custodyGit, swapRef } from './custody.ts';
import { readIfThere } from './locate-repository.ts';
import { listFolder } from './record.ts';
import {
  findPresent,
  findTextProblem,
  listRefFiles,
  walkRefs,
  type FoundRef,
  type RefProblem,
} from './survey-refs.ts';

/** A ref of ours that was broken or gone, for example by a power cut, and its repair. */
export interface RefRepair {
  readonly repository: string;
  readonly ref: string;
  readonly problem: RefProblem | 'gone';
  /** Null: nothing complete was known for it, and it was removed. */
  readonly restoredTo: string | null;
}

/** What is known of refs without reading a repository. */
export interface KnownRefs {
  /** The tree or commit that a ref should name. */
  findTarget(ref: string): string | null;
  /** The refs that should be there and are not among these, with what they name. There may be many refs. */
  listMissed(refs: AsyncIterable<string>): AsyncIterable<readonly [string, string]>;
}

type BrokenRef = FoundRef & { readonly problem: RefProblem };

/** An object in its folder, which has the first two digits. Anything else there is being written by a git. */
const OBJECT_FILE = /^([0-9a-f]{38}|[0-9a-f]{62})$/;

export async function repairRefs(repositories: readonly string[], known: KnownRefs): Promise<RefRepair[]> {
  const repaired = await Promise.all(repositories.map((each) => repairBroken(each, known)));
  return [...repaired.flat(), ...(await restoreGone(repositories, known))];
}

/** For a run without a host: the process that held the locks of its refs is dead. */
export async function removeLocks(repositories: readonly string[], runId: string): Promise<void> {
  for (const repository of repositories) {
    const files = await listRefFiles(repository, runId);
    for (const ref of files.filter((name) => name.endsWith('.lock'))) await removeFile(join(repository, ref));
  }
}

async function repairBroken(repository: string, { findTarget }: KnownRefs): Promise<RefRepair[]> {
  const git = custodyGit(repository);
  await removeEmptyObjects(repository);
  await removeLeftKeeps(repository);
  const repairs: RefRepair[] = [];
  const broken: BrokenRef[] = [];
  for await (const { problem, ...found } of walkRefs(repository))
    if (problem !== null) broken.push({ ...found, problem });
  for (const each of broken) {
    const { ref, problem } = each;
    const known = problem === 'left-lock' ? null : findTarget(ref);
    const restoredTo = known !== null && (await isWhole(git, known)) ? known : null;
    if (await replace(repository, each, restoredTo)) repairs.push({ repository, ref, problem, restoredTo });
  }
  return repairs;
}

/** False: its value has changed, or another process has its lock (P2). */
async function replace(
  repository: string,
  { ref, problem, id }: BrokenRef,
  to: string | null,
): Promise<boolean> {
  if (problem === 'left-lock') {
    await removeFile(join(repository, ref));
    return true;
  }
  if (id === null) return await replaceFile(join(repository, ref), to);
  if (to !== null) return (await swapRef(repository, { ref, from: id, to })) === null;
  const removed = await custodyGit(repository).run(['update-ref', '-d', ref, id], {
    okExitCodes: [0, 1, 128],
  });
  return removed.exitCode === 0;
}

/**
 * Git replaces no ref that it cannot read. This does what git would do, under git's own lock; if it is killed in
 * between, the ref stays as it was, and a later process finds the lock.
 */
async function replaceFile(file: string, to: string | null): Promise<boolean> {
  const lock = `${file}.lock`;
  const handle = await open(lock, 'wx').catch((error: unknown) => {
    if (isErrno(error, 'EEXIST', 'ENOENT')) return null;
    throw error;
  });
  if (handle === null) return false;
  try {
    try {
      if (to !== null) await handle.writeFile(`${to}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const text = await readIfThere(file);
    const isStill = text !== null && findTextProblem(text) !== null;
    if (isStill && to !== null) await rename(lock, file);
    else {
      if (isStill) await removeFile(file);
      await rm(lock);
    }
    await syncPath(dirname(file));
    return isStill;
  } catch (error) {
    await rm(lock, { force: true });
    throw error;
  }
}

/** If the objects still exist, as after a power cut that removed only the name. */
async function restoreGone(repositories: readonly string[], { listMissed }: KnownRefs): Promise<RefRepair[]> {
  const missed = new Map<string, string>();
  for await (const [ref, id] of listMissed(walkNames(repositories))) missed.set(ref, id);
  const gone = [...missed];
  const repairs: RefRepair[] = [];
  for (const repository of repositories) {
    const git = custodyGit(repository);
    const present = await findPresent(
      git,
      gone.map(([, id]) => id),
    );
    for (const [ref, id] of gone.filter((each) => present.has(each[1]))) {
      if (!(await isWhole(git, id))) continue;
      if ((await swapRef(repository, { ref, from: null, to: id })) === null)
        repairs.push({ repository, ref, problem: 'gone', restoredTo: id });
    }
  }
  return repairs;
}

async function* walkNames(repositories: readonly string[]): AsyncGenerator<string> {
  for (const repository of repositories) for await (const { ref } of walkRefs(repository)) yield ref;
}

/**
 * An object that lost its bytes is no object, but git treats it as one and never writes it again: the next run with the
 * same content would be saved without it. Git itself gives an object its name when it is complete.
 */
async function removeEmptyObjects(repository: string): Promise<void> {
  const objects = join(repository, 'objects');
  const folders = (await listFolder(objects)).filter((name) => /^[0-9a-f]{2}$/.test(name));
  for (const folder of folders.map((name) => join(objects, name))) {
    if (statIfThere(folder, 'itself')?.isDirectory() !== true) continue; // a link leads to files of another owner
    const names = (await listFolder(folder)).filter((name) => OBJECT_FILE.test(name));
    for (const file of names.map((name) => join(folder, name)))
      if (statIfThere(file, 'itself')?.size === 0) await removeFile(file);
  }
}

/** Every file of the tree or commit exists; the parents of a commit are the user's own. */
async function isWhole(git: Git, id: string): Promise<boolean> {
  const listed = await git.run(['ls-tree', '-r', '-t', '-z', id], { okExitCodes: [0, 1, 128] });
  if (listed.exitCode !== 0) return false;
  const entries = listed.stdout.toString('latin1').split('\0').filter(Boolean);
  const ids = entries.flatMap((entry) => /^\d+ (?:blob|tree) ([0-9a-f]+)\t/.exec(entry)?.[1] ?? []);
  const present = await findPresent(git, ids);
  return ids.every((id) => present.has(id));
}

async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
  await syncPath(dirname(path));
}
