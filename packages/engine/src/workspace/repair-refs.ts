/**
 * Refs of ours that a power cut left broken: an empty file, or the id of an object that is not there. Git refuses to
 * collect garbage or to list a history as long as one is there, so they are taken away for the user's sake as well.
 */
import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { isErrno, statIfThere, syncPath, type Git } from '@caisson/ground';

import { custodyGit, updateRefs } from './custody.ts';
import { listFolder } from './record.ts';

/** A ref of ours that was broken, as by a power cut, and what was done about it. */
export interface RefRepair {
  readonly repository: string;
  readonly ref: string;
  readonly problem: 'empty' | 'garbage' | 'missing-object' | 'left-lock';
  /** Null: nothing whole was known for it, and it was removed. */
  readonly restoredTo: string | null;
}

const NAMESPACE = 'refs/caisson';
const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
/** An object in its folder, which has the first two digits. Whatever else is there is being written by a git. */
const OBJECT_FILE = /^([0-9a-f]{38}|[0-9a-f]{62})$/;
/** No process of ours holds a ref for so long. */
const LOCK_AGE_MS = 600_000;

type Broken = Pick<RefRepair, 'ref' | 'problem'>;

/** Looks at one repository. Whoever is writing a ref at the same time replaces it in one step, and is not seen. */
export async function repairRefs(
  repository: string,
  findCommit: (ref: string) => string | null,
): Promise<RefRepair[]> {
  const git = custodyGit(repository);
  await removeEmptyObjects(repository);
  const broken = [...(await findBrokenFiles(repository)), ...(await findMissingObjects(git))];
  const repairs: RefRepair[] = [];
  for (const { ref, problem } of broken) {
    if (problem === 'missing-object') await git.run(['update-ref', '-d', ref]);
    else await removeFile(join(repository, ref)); // beyond git
    const known = problem === 'left-lock' ? null : findCommit(ref);
    const restoredTo = known !== null && (await isWhole(git, known)) ? known : null;
    if (restoredTo !== null) await updateRefs(repository, new Map([[ref, restoredTo]]));
    repairs.push({ repository, ref, problem, restoredTo });
  }
  return repairs;
}

/**
 * An object that lost its bytes is no object, but git takes it for one and never writes it again: the next run with the
 * same content would be saved without it. Git itself gives an object its name when it is complete.
 */
async function removeEmptyObjects(repository: string): Promise<void> {
  const objects = join(repository, 'objects');
  const folders = (await listFolder(objects)).filter((name) => /^[0-9a-f]{2}$/.test(name));
  for (const folder of folders.map((name) => join(objects, name))) {
    const names = (await listFolder(folder)).filter((name) => OBJECT_FILE.test(name));
    for (const file of names.map((name) => join(folder, name)))
      if (statIfThere(file, 'itself')?.size === 0) await removeFile(file);
  }
}

async function findBrokenFiles(repository: string): Promise<Broken[]> {
  const broken: Broken[] = [];
  for (const ref of await listRefFiles(repository)) {
    const file = join(repository, ref);
    if (ref.endsWith('.lock')) {
      if (Date.now() - (await stat(file)).mtimeMs > LOCK_AGE_MS) broken.push({ ref, problem: 'left-lock' });
      continue;
    }
    const text = (await readFile(file, 'latin1')).trim();
    if (OBJECT_ID.test(text)) continue;
    broken.push({ ref, problem: text.replaceAll('\0', '') === '' ? 'empty' : 'garbage' });
  }
  return broken;
}

async function listRefFiles(repository: string): Promise<string[]> {
  try {
    const entries = await readdir(join(repository, NAMESPACE), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(repository.length + 1));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

async function findMissingObjects(git: Git): Promise<Broken[]> {
  const listed = await git.text(['for-each-ref', '--format=%(objectname) %(refname)', `${NAMESPACE}/`]);
  const refs = listed.split('\n').flatMap((line) => {
    const [id = '', ref = ''] = line.split(' ');
    return ref === '' ? [] : [{ id, ref }];
  });
  const present = await findPresent(
    git,
    refs.map(({ id }) => id),
  );
  return refs
    .filter(({ id }) => !present.has(id))
    .map(({ ref }): Broken => ({ ref, problem: 'missing-object' }));
}

async function findPresent(git: Git, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const checked = await git.text(['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    stdin: ids.map((id) => `${id}\n`).join(''),
  });
  const lines = checked.split('\n').filter((line) => !line.endsWith(' missing'));
  return new Set(lines.map((line) => line.slice(0, line.indexOf(' '))));
}

/** Every file of the commit is there; what it stands on is the user's own. */
async function isWhole(git: Git, commit: string): Promise<boolean> {
  const listed = await git.run(['ls-tree', '-r', '-t', '-z', commit], { okExitCodes: [0, 1, 128] });
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
