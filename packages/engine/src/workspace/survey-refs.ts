/** The refs of ours in one repository, and which of them are broken, as by a power cut. Nothing is changed. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isErrno, statIfThere, type Git } from '@caisson/ground';

import { custodyGit } from './custody.ts';
import { readIfThere } from './locate-repository.ts';

export type RefProblem = 'empty' | 'garbage' | 'missing-object' | 'left-lock';

export interface BrokenRef {
  readonly ref: string;
  readonly problem: RefProblem;
  /** What git reads there; null where it can read nothing. */
  readonly id: string | null;
}

const NAMESPACE = 'refs/caisson';
const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
/** No process of ours holds a ref for so long. */
const LOCK_AGE_MS = 600_000;

/** Whoever is writing a ref at the same time replaces it in one step, and is not seen. */
export async function surveyRefs(
  repository: string,
): Promise<{ readonly whole: readonly string[]; readonly broken: readonly BrokenRef[] }> {
  const git = custodyGit(repository);
  const files = await findBrokenFiles(repository);
  const listed = await git.text(['for-each-ref', '--format=%(objectname) %(refname)', `${NAMESPACE}/`]);
  const refs = listed.split('\n').flatMap((line) => {
    const [id = '', ref = ''] = line.split(' ');
    return ref === '' ? [] : [{ id, ref }];
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

/** What is wrong with the text of a ref's file; null for one that git can read. */
export function findTextProblem(text: string): 'empty' | 'garbage' | null {
  if (OBJECT_ID.test(text.trim())) return null;
  return text.replaceAll('\0', '').trim() === '' ? 'empty' : 'garbage';
}

/** Those of the objects that the repository has. */
export async function findPresent(git: Git, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const checked = await git.text(['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    stdin: ids.map((id) => `${id}\n`).join(''),
  });
  const lines = checked.split('\n').filter((line) => !line.endsWith(' missing'));
  return new Set(lines.map((line) => line.slice(0, line.indexOf(' '))));
}

/** A file that goes meanwhile was a writer's lock, or is in the packed refs now. */
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
