/**
 * Commits that the agent made in a repository of its own inside the workspace. Their files are in the patch; their history
 * is not, and goes with the workspace. It is kept as a bundle for each such repository, in `held-back/` (W2).
 *
 * Each bundle has a name of ours, so that the command that gets it has nothing in it that the agent wrote.
 *
 * Like the agent's git dir, such a folder is untrusted input (W4): its refs are read as plain files, its objects through
 * a git dir of ours, and one that borrows objects, or has links in it, is not read.
 */
import { existsSync, lstatSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import {
  createGit,
  createOwnGitDir,
  GitError,
  makeFolder,
  objectFormatOf,
  publishFile,
} from '@caisson/ground';
import { shellQuote, type WorkBeside } from '@caisson/protocol';

import { saveAgentCommits, type AgentCommits } from './agent-commits.ts';
import { holdsOwnObjects } from './agent-objects.ts';
import { readAllRefs } from './agent-refs.ts';
import { cleanCommits, type Clean } from './clean-commits.ts';
import type { PreparedWorkspace } from './contract.ts';
import { heldBackPlace } from './held-back.ts';

const MAX_REPOSITORIES = 16;
const BRANCH = /^refs\/heads\/(?!.*(\.\.|\/\/|\.lock(\/|$)|\/\.))[\w][\w./+@=,-]*(?<![./])$/;

interface NestedHistory {
  readonly beside: readonly WorkBeside[];
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
  const history = await saveNestedHistory(prepared, nested, clean);
  return { ...own, nested: history.beside, warnings: [...own.warnings, ...history.warnings] };
}

/** `nested`: the repositories in the workspace, relative to it. In place they stay where they are. */
async function saveNestedHistory(
  prepared: PreparedWorkspace,
  nested: readonly string[],
  clean: Clean | null,
): Promise<NestedHistory> {
  const beside: WorkBeside[] = [];
  const warnings: string[] = [];
  if (prepared.kind === 'in-place') return { beside, warnings };
  for (const [index, path] of nested.slice(0, MAX_REPOSITORIES).entries()) {
    // Beside the folder: in it, a file of the agent could have the same name.
    const file = `${heldBackPlace(prepared)}.nested-${index + 1}.bundle`;
    try {
      if (await saveOne(prepared, { path, file }, clean))
        beside.push({
          what: `the commits made in ${path}, a repository of its own`,
          get: `git clone ${shellQuote(file)}`,
        });
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      warnings.push(`the commits made in ${path}, a repository of its own, were not saved: ${error.message}`);
    }
  }
  const rest = nested.length - MAX_REPOSITORIES;
  if (rest > 0) warnings.push(`${rest} more repositories in the workspace; their commits were not saved`);
  return { beside, warnings };
}

/** False where there are no commits. */
async function saveOne(
  prepared: PreparedWorkspace,
  { path, file }: { path: string; file: string },
  clean: Clean | null,
): Promise<boolean> {
  if (clean === null && existsSync(file)) return true; // a later clean-up does not know the secrets any more
  const source = join(prepared.path, path, '.git');
  if (lstatSync(source, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  const { refs, head } = await readAllRefs(source);
  const branches = [...refs].filter(([name]) => BRANCH.test(name));
  if (branches.length === 0) return false;
  if (!(await holdsOwnObjects(source)))
    throw new GitError('its object store borrows from somewhere else, or has links in it', '');
  const folder = await mkdtemp(join(prepared.attemptDir, 'nested-'));
  try {
    const draft = await writeBundle(folder, { source, branches, head }, clean);
    makeFolder(dirname(file));
    await publishFile(draft, file);
    return true;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface FoundBranches {
  readonly source: string;
  readonly branches: readonly (readonly [name: string, commit: string])[];
  readonly head: string | null;
}

async function writeBundle(
  folder: string,
  { source, branches, head }: FoundBranches,
  clean: Clean | null,
): Promise<string> {
  const gitDir = join(folder, 'git');
  const ids = [...new Set(branches.map(([, commit]) => commit))];
  await createOwnGitDir({ path: gitDir, objectFormat: objectFormatOf(ids[0] ?? '') });
  const alternates = [join(source, 'objects')];
  const git = createGit({ cwd: gitDir, gitDir, alternates, timeoutMs: 600_000 });
  const instead =
    clean === null
      ? new Map<string, string>()
      : await cleanCommits({ reader: git, writer: git, heads: ids, have: [], folder, clean });
  const named = branches.map(([name, commit], index) => ({
    name: isClean(name, clean) ? name : `refs/heads/branch-${index + 1}`,
    commit: instead.get(commit) ?? commit,
    isHead: name === head,
  }));
  const stdin = named.map(({ name, commit }) => `update ${name} ${commit}\n`).join('');
  await git.run(['update-ref', '--stdin'], { stdin });
  const checkedOut = named.find(({ isHead }) => isHead);
  if (checkedOut !== undefined) await git.run(['symbolic-ref', 'HEAD', checkedOut.name]);
  const draft = join(folder, 'history.bundle');
  const heads = checkedOut === undefined ? [] : ['HEAD'];
  await git.run(['bundle', 'create', '--quiet', draft, ...heads, '--branches']);
  return draft;
}

function isClean(name: string, clean: Clean | null): boolean {
  return clean === null || clean(Buffer.from(name)).toString('utf8') === name;
}
