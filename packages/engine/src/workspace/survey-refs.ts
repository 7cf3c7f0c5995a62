/** Our refs in one repository, and which of them are broken, for example by a power cut. Changes nothing. */
import { opendir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { ifErrno, isErrno, statIfThere, type Git } from '@caisson/ground';

import { custodyGit, findLinkedFolder } from './custody.ts';
import { NAMESPACE } from './locate-repository.ts';
import { WorkspaceError } from './errors.ts';
import { readIfThere } from './locate-repository.ts';

export type RefProblem = 'empty' | 'garbage' | 'missing-object' | 'left-lock';

/** Every ref that we make. Other refs in the namespace are not ours to repair. */
const OWN_REF =
  /^refs\/caisson\/run_[0-9a-z]+\/(\d+|(base|base-commit|branch)\/\d+|heads\/\d+\/.+)(\.lock)?$/;
const OBJECT_ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
/** None of our processes locks a ref for this long. */
const LOCK_AGE_MS = 600_000;

export interface FoundRef {
  readonly ref: string;
  /** What git reads there; null if it can read nothing. */
  readonly id: string | null;
  /** Null if it names an object that is there. */
  readonly problem: RefProblem | null;
}

/** So many are looked up by one git, and are in memory at the same time. */
const AT_ONCE = 4096;
const FORMAT = '--format=%(objectname) %(refname)';

interface OwnRef {
  readonly id: string;
  readonly ref: string;
}

/**
 * Every ref of ours: a project has one for each attempt of each run. A process that writes a ref at the same time replaces
 * it in one step, and is not seen.
 */
export async function* walkRefs(repository: string): AsyncGenerator<FoundRef> {
  if (findLinkedFolder(repository, NAMESPACE) !== null) return;
  yield* walkBrokenFiles(repository);
  const git = custodyGit(repository);
  let own: OwnRef[] = [];
  for await (const line of git.lines(['for-each-ref', FORMAT, `${NAMESPACE}/`])) {
    const [id = '', ref = ''] = line.split(' ');
    if (isOwn(repository, ref)) own.push({ id, ref });
    if (own.length < AT_ONCE) continue;
    yield* inspectRefs(git, own);
    own = [];
  }
  yield* inspectRefs(git, own);
}

async function* inspectRefs(git: Git, refs: readonly OwnRef[]): AsyncGenerator<FoundRef> {
  const present = await findPresent(
    git,
    refs.map(({ id }) => id),
  );
  for (const { ref, id } of refs) yield { ref, id, problem: present.has(id) ? null : 'missing-object' };
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
async function* walkBrokenFiles(repository: string): AsyncGenerator<FoundRef> {
  for await (const runId of walkFolder(join(repository, NAMESPACE))) {
    if (findLinkedFolder(repository, join(NAMESPACE, runId)) !== null) continue;
    for (const ref of await listRefFiles(repository, runId)) {
      const problem = await findFileProblem(join(repository, ref));
      if (problem !== null) yield { ref, problem, id: null };
    }
  }
}

/** The names in a folder that may have one for each run. */
async function* walkFolder(path: string): AsyncGenerator<string> {
  const folder = await opendir(path, { bufferSize: 256 }).catch(ifErrno(null, 'ENOENT'));
  for await (const { name } of folder ?? []) yield name;
}

async function findFileProblem(file: string): Promise<RefProblem | null> {
  if (file.endsWith('.lock')) {
    const changedMs = statIfThere(file, 'itself')?.mtimeMs ?? Infinity;
    return Date.now() - changedMs > LOCK_AGE_MS ? 'left-lock' : null;
  }
  const text = await readIfThere(file);
  return text === null ? null : findTextProblem(text);
}

/** Those of a run that are in files of their own, with their locks. */
export async function listRefFiles(repository: string, runId: string): Promise<string[]> {
  const folder = join(repository, NAMESPACE, runId);
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(repository.length + 1))
      .filter((ref) => isOwn(repository, ref));
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}
