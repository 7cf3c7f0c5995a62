/**
 * Commits that the agent made in a repository of its own inside the workspace. Their files are in the patch; their history
 * is not, and goes with the workspace. It is kept as a bundle for each such repository, in `held-back/` (W2). What cannot
 * be kept is named, and the removal keeps the whole workspace for it.
 *
 * Each bundle has a name of ours, so that the command that gets it has nothing in it that the agent wrote.
 *
 * Like the agent's git dir, such a folder is untrusted input (W4): its refs are read as plain files, its objects through
 * a git dir of ours, and one that borrows objects, or has links in it, is not read.
 */
import { lstatSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { explainError, GitError, writeFileAtomic } from '@caisson/ground';
import { shellQuote, type WorkBeside } from '@caisson/protocol';

import { saveAgentCommits, type AgentCommits } from './agent-commits.ts';
import { readAllRefs, type MovedRefs } from './agent-refs.ts';
import type { Clean } from './clean-commits.ts';
import type { PreparedWorkspace } from './contract.ts';
import { heldBackPlace } from './held-back.ts';
import { readIfThere } from './locate-repository.ts';
import { nameSome } from './name-some.ts';
import { writeNestedBundle } from './nested-bundle.ts';

/** What was saved of each repository, for the removal and for a later save. */
const SAVED_NESTED_FILE = 'saved-nested';
const MAX_REPOSITORIES = 16;
/** All bundles together, where the task has no limit of its own (`limits.capture`). */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_MS = 300_000;
const MAX_GIT_FILE_BYTES = 4096;
const WHERE = 'the removed workspace is kept for it (caisson gc names it)';

interface SavedRepository {
  readonly path: string;
  readonly file: string;
  readonly refs: readonly (readonly [name: string, id: string])[];
  readonly bytes: number;
  readonly warnings: readonly string[];
}

/** The agent's commits in its own git dir, and in repositories that it made inside the workspace. */
export async function saveCommits(
  prepared: PreparedWorkspace,
  { tree, nested }: { tree: string; nested: readonly string[] },
  clean: Clean | null,
  isAgain: boolean,
): Promise<AgentCommits & { readonly nested: readonly WorkBeside[] }> {
  const isPatchEmpty = tree === prepared.baselineTree;
  const own = await saveAgentCommits(prepared, clean, { isPatchEmpty, isAgain });
  const { saved, warnings } = await saveNestedHistory(prepared, nested, clean);
  const beside = saved.map(({ path, file }) => ({
    what: `the commits made in ${path}, a repository of its own`,
    get: `git clone ${shellQuote(file)}`,
  }));
  return { ...own, nested: beside, warnings: [...own.warnings, ...warnings] };
}

/** `nested`: the repositories in the workspace, relative to it. In place they stay where they are. */
export async function saveNestedHistory(
  prepared: PreparedWorkspace,
  nested: readonly string[],
  clean: Clean | null,
  signal = AbortSignal.timeout(MAX_MS),
): Promise<{ saved: readonly SavedRepository[]; warnings: readonly string[] }> {
  const saved: SavedRepository[] = [];
  const warnings: string[] = [];
  if (prepared.kind === 'in-place' || nested.length === 0) return { saved, warnings };
  const before = await readSaved(prepared);
  let bytesLeft = prepared.limits?.maxTotalBytes ?? MAX_BYTES;
  for (const path of nested.slice(0, MAX_REPOSITORIES)) {
    try {
      const limits = { maxBytes: bytesLeft, signal };
      const one = await saveOne(prepared, { path, nested, known: [...before, ...saved] }, clean, limits);
      if (one === null) continue;
      saved.push(one);
      warnings.push(...one.warnings);
      bytesLeft = Math.max(0, bytesLeft - one.bytes);
    } catch (error) {
      // Whatever it is, a full disk as well: the files are saved all the same, and the removal keeps the rest.
      const why = explainError(error);
      warnings.push(`the commits made in ${path}, a repository of its own, were not saved: ${why}; ${WHERE}`);
    }
  }
  const rest = nested.length - MAX_REPOSITORIES;
  if (rest > 0)
    warnings.push(`${rest} more repositories in the workspace; their commits were not saved; ${WHERE}`);
  await writeFileAtomic(join(prepared.attemptDir, SAVED_NESTED_FILE), JSON.stringify(saved));
  return { saved, warnings };
}

/** Whether a repository in the workspace names commits that no bundle has. */
export async function hasUnsavedNested(
  prepared: PreparedWorkspace,
  nested: readonly string[],
): Promise<boolean> {
  const saved = new Map((await readSaved(prepared)).map(({ path, refs }) => [path, new Map(refs)]));
  for (const path of nested) {
    try {
      const found = await readNested(prepared, path, nested);
      const isKept = ([name, id]: [string, string]): boolean => saved.get(path)?.get(name) === id;
      if (found !== null && (found.unread.length > 0 || ![...found.refs].every(isKept))) return true;
    } catch {
      return true; // unknown
    }
  }
  return false;
}

async function readSaved({ attemptDir }: PreparedWorkspace): Promise<readonly SavedRepository[]> {
  const text = await readIfThere(join(attemptDir, SAVED_NESTED_FILE));
  return text === null ? [] : (JSON.parse(text) as SavedRepository[]);
}

/** Null where there are no commits. */
async function saveOne(
  prepared: PreparedWorkspace,
  { path, nested, known }: { path: string; nested: readonly string[]; known: readonly SavedRepository[] },
  clean: Clean | null,
  limits: { maxBytes: number; signal: AbortSignal },
): Promise<SavedRepository | null> {
  const found = await readNested(prepared, path, nested);
  if (found === null) return null;
  const before = known.find((one) => one.path === path);
  const refs = new Map(before?.refs);
  const isSaved = refs.size > 0 && [...found.refs].every(([name, id]) => refs.get(name) === id);
  if (clean === null && before !== undefined && isSaved) return before; // the secrets are not known any more
  if (found.refs.size === 0) throw new GitError(found.unread.join(', '), '');
  const file = before?.file ?? nextFile(prepared, known);
  const source = join(prepared.path, path, '.git');
  const { attemptDir: folder } = prepared;
  const made = await writeNestedBundle({ ...found, ...limits, source, file, folder, clean });
  const missing = [...found.refs.keys()].filter((name) => !made.refs.has(name));
  const lost = [...missing.map((name) => `${name} names no commit`), ...found.unread];
  const warnings = [
    ...(lost.length === 0
      ? []
      : [`some of the commits made in ${path} were not saved: ${nameSome(lost)}; ${WHERE}`]),
    ...(made.renamed.length === 0
      ? []
      : [`the commits made in ${path} are kept under other names: ${nameSome(made.renamed)}`]),
  ];
  return { path, file, refs: [...made.refs], bytes: made.bytes, warnings };
}

/** Beside the folder of the attempt: in it, a file of the agent could have the same name. */
function nextFile(prepared: PreparedWorkspace, known: readonly SavedRepository[]): string {
  const fileOf = (count: number): string => `${heldBackPlace(prepared)}.nested-${count}.bundle`;
  let count = 1;
  while (known.some(({ file }) => file === fileOf(count))) count += 1;
  return fileOf(count);
}

/** Null where there is nothing to save. */
async function readNested(
  prepared: PreparedWorkspace,
  path: string,
  nested: readonly string[],
): Promise<(MovedRefs & { readonly head: string }) | null> {
  const source = join(prepared.path, path, '.git');
  const kind = lstatSync(source, { throwIfNoEntry: false });
  if (kind === undefined) return null;
  if (kind.isFile() && kind.size < MAX_GIT_FILE_BYTES) {
    const place = resolve(prepared.mountPath, path, parseGitFile(await readFile(source, 'utf8')));
    if (isOtherWorktree(prepared, place, nested)) return null;
  }
  if (!kind.isDirectory()) throw new GitError('its .git is not a folder', '');
  const found = await readAllRefs(source);
  return found.refs.size + found.unread.length === 0 ? null : found;
}

const parseGitFile = (text: string): string => /^gitdir: (.+)$/m.exec(text)?.[1] ?? '';

/** Of a repository whose refs are read anyway, with the HEAD of each of its worktrees. */
function isOtherWorktree(
  { attemptDir, path, mountPath, agentGit }: PreparedWorkspace,
  place: string,
  nested: readonly string[],
): boolean {
  const owner = /^(.+)\/worktrees\/[^/]+$/.exec(place)?.[1];
  if (owner === undefined) return false;
  const own = [join(attemptDir, 'agent-git'), ...(agentGit === undefined ? [] : [agentGit.target])];
  const isFolder = (name: string): boolean =>
    lstatSync(join(path, name, '.git'), { throwIfNoEntry: false })?.isDirectory() === true;
  return (
    own.includes(owner) || nested.some((name) => owner === join(mountPath, name, '.git') && isFolder(name))
  );
}
