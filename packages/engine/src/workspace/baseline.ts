/** The tree an attempt starts from: the user's present files, or a commit named with `--base`. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import {
  createGit,
  emptyTreeLike,
  findTreeOfCommit,
  forgetHidden,
  type OversizedFile,
} from '@caisson/ground';

import { awaitAll } from './await-all.ts';
import { besideGc, nameByRefs } from './beside-gc.ts';
import type { PrepareOptions } from './contract.ts';
import { findConversions, type Conversion } from './conversions.ts';
import { baselineRef } from './custody.ts';
import { WorkspaceError } from './errors.ts';
import { listRefs, type Repository, type UserFolders } from './locate-repository.ts';
import { describeLinks, describeMissingSubmodules } from './submodule-links.ts';
import { nameSome } from './name-some.ts';
import { excludedPaths, makeGitDir, stagePresent } from './stage-present.ts';

export interface Baseline {
  readonly gitDir: string;
  readonly tree: string;
  /** The files' first state, if that is not the baseline itself. */
  readonly startTree?: string;
  readonly changedSince?: readonly string[];
  readonly headRef: string | null;
  readonly baseCommit: string | null;
  readonly baselineCommit: string | null;
  readonly exclude: readonly string[];
  readonly ignoreRules: string;
  readonly warnings: readonly string[];
  /** Files of the user that are too large to be part of it. */
  readonly oversized: readonly OversizedFile[];
  /** Files that differ from the base commit only because the user's git converts contents. */
  readonly conversions?: readonly Conversion[];
}

/** The user's present files: committed, uncommitted and untracked, without what is ignored. `wasTaken`: and lost again. */
export async function takeBaseline(
  options: PrepareOptions,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
  wasTaken = false,
): Promise<Baseline> {
  return await besideGc(
    (isAgain) => takePresent(options, attemptDir, repository, user, wasTaken || isAgain),
    () => rm(join(attemptDir, 'git'), { recursive: true, force: true }),
  );
}

async function takePresent(
  options: PrepareOptions,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
  isAgain: boolean,
): Promise<Baseline> {
  const { headCommit } = repository;
  const [present, headTree] = await awaitAll([
    stagePresent(options, attemptDir, repository, user, isAgain),
    headCommit === null ? null : treeOf(repository, headCommit),
  ]);
  const { gitDir, ignoreRules, exclude, home, staged } = present;
  const isInPlace = options.kind === 'in-place';
  // In our own folder there are no keys, and a dot file that an agent makes there is work.
  if (!isInPlace && home !== '') await writeFile(join(gitDir, 'info/exclude'), ignoreRules);
  if (!isInPlace) await forgetHidden(gitDir); // our own folder has none of these files
  const isClean = staged.tree === headTree;
  if (!isClean) await pinBaseline(options, gitDir, repository.commonDir, staged.tree, headCommit);
  const conversions = isClean ? [] : await findConversions(repository, gitDir, staged.tree, user);
  const nested = staged.nested.map(
    (name) => `${name} is a repository of its own; its files are in the workspace, its history is not`,
  );
  return {
    gitDir,
    tree: staged.tree,
    headRef: repository.headRef,
    baseCommit: headCommit,
    baselineCommit: isClean ? headCommit : null,
    exclude,
    ignoreRules: isInPlace ? ignoreRules + home : ignoreRules,
    warnings: [
      ...(home === '' ? [] : [HOME_WARNING]),
      ...nested,
      ...(await describeMissingSubmodules(repository, gitDir, staged.tree)),
      ...staged.warnings,
      ...(isInPlace ? [] : describeHiddenFiles(staged.hidden ?? [])),
    ],
    oversized: staged.oversized,
    conversions,
  };
}

export async function takeBaseFromRef(
  options: Pick<PrepareOptions, 'projectRoot' | 'stateDir' | 'keepOut'>,
  baseRef: string,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
): Promise<Baseline> {
  const exclude = excludedPaths(options, repository.top);
  const baseCommit = await findCommit(repository, baseRef);
  if (baseCommit === null) {
    throw new WorkspaceError(`--base ${JSON.stringify(baseRef)} names no commit in ${repository.top}.`, {
      remedy: 'Use a branch, a tag or a commit id that `git log` knows.',
    });
  }
  const { gitDir, ignoreRules } = await makeGitDir(attemptDir, repository, user, exclude);
  const [tree] = await awaitAll([
    treeOf(repository, baseCommit),
    createGit({ cwd: gitDir, gitDir, workTree: gitDir }).run(['read-tree', baseCommit]),
  ]);
  const isFetched = repository.fetched !== undefined;
  const headRef = isFetched ? repository.headRef : await findBranchOf(repository, baseRef);
  return {
    gitDir,
    tree,
    headRef,
    baseCommit,
    baselineCommit: baseCommit,
    exclude,
    ignoreRules,
    warnings: isFetched ? await describeLinks(gitDir, tree) : [],
    oversized: [],
  };
}

async function findBranchOf(repository: Repository, name: string): Promise<string | null> {
  const refs = await listRefs(repository);
  return refs.find((ref) => ref.name === `refs/heads/${name}`)?.name ?? null;
}

/** The commit that a user's input names; null when there is none. */
export async function findCommit(
  repository: Pick<Repository, 'top' | 'gitDir'>,
  word: string,
): Promise<string | null> {
  if (word === '') return null; // `^{commit}` alone would be refused with another message
  const git = createGit({ cwd: repository.top, gitDir: repository.gitDir, foreign: true });
  const resolved = await git.run(
    ['rev-parse', '--verify', '--quiet', '--end-of-options', `${word}^{commit}`],
    { okExitCodes: [0, 1, 128] },
  );
  return resolved.exitCode === 0 ? resolved.stdout.toString('utf8').trim() : null;
}

/** Our ref protects a baseline that no commit of the user has from `git gc`. */
export async function pinBaseline(
  { runId, attempt }: Pick<PrepareOptions, 'runId' | 'attempt'>,
  gitDir: string,
  custodyDir: string,
  tree: string,
  known: string | null,
): Promise<void> {
  if (tree === emptyTreeLike(tree)) return; // git knows it without a ref
  await nameByRefs({ gitDir, custodyDir, known }, new Map([[baselineRef(runId, attempt), tree]]));
}

async function treeOf({ top, gitDir, objectDir }: Repository, commit: string): Promise<string> {
  const found = await findTreeOfCommit(objectDir, commit);
  if (found !== null) return found;
  const git = createGit({ cwd: top, gitDir, foreign: true });
  return await git.text(['rev-parse', '--verify', `${commit}^{tree}`]);
}

const HOME_WARNING =
  'this repository contains your home folder: dot files there that are not under git were left out of the workspace';

function describeHiddenFiles(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  return [
    `Not in the workspace, because a no-access rule hides them: ${nameSome(paths)}. Setup and checks see them if workspace.include names them.`,
  ];
}

/** The warning for files that are too large to be part of the baseline. */
export function describeLeftBehind(files: readonly OversizedFile[]): string[] {
  if (files.length === 0) return [];
  const names = nameSome(files.map(({ path, size }) => `${path} (${size} bytes)`));
  return [
    `too large to be captured (limits.captureFile, limits.capture), so not part of the baseline: ${names}`,
  ];
}
