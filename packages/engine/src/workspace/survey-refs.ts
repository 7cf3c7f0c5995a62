/** Our refs in one repository, and which of them are broken, for example by a power cut. Changes nothing. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { isErrno, statIfThere, type Git } from '@caisson/ground';

import { custodyGit, findLinkedFolder } from './custody.ts';
import { NAMESPACE } from './locate-repository.ts';
import { WorkspaceError } from './errors.ts';
import { readIfThere } from './locate-repository.ts';

export type RefProblem = 'empty' | 'garbage' | 'missing-object' | 'left-lock';

export interface BrokenRef {
  readonly ref: string;
  readonly problem: RefProblem;
  /** What git reads there; null if it can read nothing. */
  readonly id: string | null;
}

/** Every ref that we make. Other refs in the namespace are not ours to repair. */
const OWN_REF =
  /^refs\/caisson\/run_[0-9a-z]+\/(\d+|(base|base-commit|branch)\/\d+|heads\/\d+\/.+)(\.lock)?$/;
const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
/** None of our processes locks a ref for this long. */
const LOCK_AGE_MS = 600_000;

/** A process that writes a ref at the same time replaces it in one step, and is not seen. */
export async function surveyRefs(
  repository: string,
): Promise<{ readonly whole: readonly string[]; readonly broken: readonly BrokenRef[] }> {
  if (findLinkedFolder(repository, NAMESPACE) !== null) return { whole: [], broken: [] };
  const git = custodyGit(repository);
  const files = await findBrokenFiles(repository);
  const listed = await git.text(['for-each-ref', '--format=%(objectname) %(refname)', `${NAMESPACE}/`]);
  const refs = listed.split('\n').flatMap((line) => {
    const [id = '', ref = ''] = line.split(' ');
    return isOwn(repository, ref) ? [{ id, ref }] : [];
  });
  const present = await findPresent(
    git,
    refs.map(({ id }) => id),
  );
  const missing = refs.filter(({ id }) => !present.has(id));
  return {
    whole: refs.filter(({ id }) => present.has(id)).map(({ ref }) => ref),
    broken: [...files, ...missing.map((each): BrokenRef => ({ ...each, problem: 'missing-object' }))],
  };
}

/** A `.git` from another person may have links in it: they lead to files of the user, or to other refs. */
function isOwn(repository: string, ref: string): boolean {
  return OWN_REF.test(ref) && findLinkedFolder(repository, dirname(ref)) === null;
}

/** What is wrong with the text of a ref's file; null for one that git can read. */
export function findTextProblem(text: string): 'empty' | 'garbage' | null {
  if (OBJECT_ID.test(text.trim())) return null;
  return text.replaceAll('\0', '').trim() === '' ? 'empty' : 'garbage';
}

/** Those of the objects that the repository has. Throws if git could not read: that proves nothing. */
export async function findPresent(git: Git, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const checked = await git.run(['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    stdin: ids.map((id) => `${id}\n`).join(''),
  });
  if (checked.stderr.trim() !== '')
    throw new WorkspaceError(`git objects could not be read: ${checked.stderr.trim().slice(0, 1000)}`);
  const lines = checked.stdout.toString('utf8').split('\n');
  const found = lines.filter((line) => line !== '' && !line.endsWith(' missing'));
  return new Set(found.map((line) => line.slice(0, line.indexOf(' '))));
}

/** A file that vanishes meanwhile was a writer's lock, or is in the packed refs now. */
async function findBrokenFiles(repository: string): Promise<BrokenRef[]> {
  const broken: BrokenRef[] = [];
  for (const ref of await listRefFiles(repository)) {
    const file = join(repository, ref);
    if (ref.endsWith('.lock')) {
      const changedMs = statIfThere(file, 'itself')?.mtimeMs ?? Infinity;
      if (Date.now() - changedMs > LOCK_AGE_MS) broken.push({ ref, problem: 'left-lock', id: null });
      continue;
    }
    const text = await readIfThere(file);
    const problem = text === null ? null : findTextProblem(text);
    if (problem !== null) broken.push({ ref, problem, id: null });
  }
  return broken;
}

/** Those in files of their own, with their locks: all, or those of one run. */
export async function listRefFiles(repository: string, runId = ''): Promise<string[]> {
  const folder = join(repository, NAMESPACE, runId);
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(repository.length + 1))
      .filter((ref) => isOwn(repository, ref));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
