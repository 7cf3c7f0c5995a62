/** Makes an attempt's folder, its baseline and the agent's git. One function a kind; the record is written last. */
import { mkdir, realpath, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';

import {
  createOwnGitDir,
  EMPTY_TREE,
  explainError,
  GitError,
  isErrno,
  stageWorkspace,
  type Stamp,
} from '@caisson/ground';
import { CaissonError, definedOnly } from '@caisson/protocol';

import { createAgentGit } from './agent-git.ts';
import { awaitAll } from './await-all.ts';
import { describeLeftBehind, pinBaseline, takeBaseline } from './baseline.ts';
import type { PreparedWorkspace, PrepareOptions } from './contract.ts';
import { ensureOwnCustody } from './custody.ts';
import { describeAttempt, describePrepared } from './describe-prepared.ts';
import { describeLostWork, seedWithWork } from './earlier-work.ts';
import { WorkspaceError } from './errors.ts';
import { placeCaches } from './brought-caches.ts';
import { findCaches } from './find-brought.ts';
import { placeOwnSettings } from './git-settings.ts';
import { describeHiding, hidesOf } from './hiding.ts';
import {
  demandWritable,
  findRepository,
  listRefs,
  openFetched,
  type Repository,
  type UserFolders,
} from './locate-repository.ts';
import { prepareCleanRoom } from './prepare-clean-room.ts';
import { checkOut, prepareWorktree } from './prepare-worktree.ts';
import { attemptFolder, gitDirOfOwnFolder, writeRecord } from './record.ts';
import { excludedPaths, ownRules, signalOf } from './stage-present.ts';

const GIT_REMEDY =
  'Run `git status` and `git fsck` in the project; a partial clone needs its files fetched first.';

export async function prepareWorkspace(
  given: PrepareOptions,
  { user, stamp }: { readonly user: UserFolders; readonly stamp: Stamp },
): Promise<PreparedWorkspace> {
  const options = await withRealPaths(given);
  const attemptDir = await makeAttemptDir(options);
  try {
    const prepared = await prepareKind(options, attemptDir, user);
    await writeRecord(prepared, stamp);
    return prepared;
  } catch (error) {
    // No agent has run here: only what this call has made is removed.
    await rm(attemptDir, { recursive: true, force: true });
    throw error instanceof WorkspaceError
      ? error
      : new WorkspaceError(`Could not prepare the workspace of ${options.runId}: ${messageOf(error)}`, {
          cause: error,
          ...remedyFor(error),
        });
  }
}

async function withRealPaths(options: PrepareOptions): Promise<PrepareOptions> {
  await mkdir(options.stateDir, { recursive: true });
  const [projectRoot, stateDir] = await awaitAll([realpath(options.projectRoot), realpath(options.stateDir)]);
  // What the project has beside its files is not that of the remote.
  const none = options.fetched === undefined ? {} : { include: [], bring: { detect: false, paths: [] } };
  return { ...options, ...none, projectRoot, stateDir };
}

async function makeAttemptDir(options: PrepareOptions): Promise<string> {
  const path = attemptFolder(options.stateDir, options.runId, options.attempt);
  await mkdir(join(options.stateDir, 'worktrees'), { recursive: true, mode: 0o700 });
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    throw new WorkspaceError(
      `Attempt ${options.attempt} of ${options.runId} has a workspace already: ${path}.`,
      {
        remedy: 'Attempts are never overwritten; use the next attempt number.',
      },
    );
  }
  return path;
}

async function prepareKind(
  options: PrepareOptions,
  attemptDir: string,
  user: UserFolders,
): Promise<PreparedWorkspace> {
  if (options.kind === 'empty') return await prepareEmpty(options, attemptDir, user);
  const repository = await openRepository(options, user);
  if (repository !== null) await demandWritable(repository);
  if (options.kind === 'in-place') {
    return repository === null
      ? await prepareFolder(options, attemptDir, user)
      : await prepareInPlace(options, attemptDir, repository, user);
  }
  if (repository !== null) return await prepareWorktree(options, attemptDir, repository, user);
  throw new WorkspaceError(
    `${options.projectRoot} is not in a git repository, so it cannot have a worktree.`,
    {
      remedy: 'Use --workspace in-place, or run `git init` first.',
    },
  );
}

function openRepository(
  { fetched, projectRoot }: PrepareOptions,
  user: UserFolders,
): Promise<Repository | null> {
  return fetched === undefined ? findRepository(projectRoot, user) : openFetched(fetched, projectRoot, user);
}

async function prepareEmpty(
  options: PrepareOptions,
  attemptDir: string,
  { home }: UserFolders,
): Promise<PreparedWorkspace> {
  const path = join(attemptDir, 'files');
  const gitDir = join(attemptDir, 'git');
  const custodyDir = await ensureOwnCustody(options.stateDir, 'sha1');
  await awaitAll([mkdir(path), createOwnGitDir(gitDirOfOwnFolder({ gitDir, custodyDir }))]);
  const { work } = options;
  const cleanRoom = await prepareCleanRoom(options, attemptDir, '', null);
  const startTree = work === undefined ? null : await seedWithWork(gitDir, custodyDir, work, options);
  if (startTree !== null) await checkOut(gitDir, path, options);
  return {
    ...describeAttempt(options, { attemptDir, home }),
    ...describeOwnFolder(path, gitDir, custodyDir),
    baselineTree: EMPTY_TREE.sha1,
    ...(startTree === null ? {} : { startTree }),
    baselineCommit: null,
    exclude: ['.caisson'],
    ...definedOnly({ cleanRoom }),
    warnings: work === undefined || startTree !== null ? [] : [describeLostWork(work)],
  };
}

/** What a workspace outside of the user's repository is. */
const describeOwnFolder = (path: string, gitDir: string, custodyDir: string) =>
  ({
    path,
    mountPath: path,
    cwd: path,
    gitDir,
    custodyDir,
    isUserRepository: false,
    baseCommit: null,
  }) as const;

/** In place, in a folder that no repository holds. */
async function prepareFolder(
  options: PrepareOptions,
  attemptDir: string,
  { home }: UserFolders,
): Promise<PreparedWorkspace> {
  const path = options.projectRoot;
  const gitDir = join(attemptDir, 'git');
  const custodyDir = await ensureOwnCustody(options.stateDir, 'sha1');
  const exclude = excludedPaths(options, path);
  await createOwnGitDir({ ...gitDirOfOwnFolder({ gitDir, custodyDir }), ignoreRules: ownRules(exclude) });
  const staged = await stageWorkspace({
    workspace: path,
    gitDir,
    exclude,
    like: EMPTY_TREE.sha1,
    limits: options.limits,
    hides: hidesOf({ ...describeHiding(options, home), cwd: path, mountPath: path }),
    remembersHidden: true,
    ...signalOf(options),
  });
  await pinBaseline(options, gitDir, custodyDir, staged.tree, null);
  const cleanRoom = await prepareCleanRoom(options, attemptDir, '', null);
  return {
    ...describeAttempt(options, { attemptDir, home }),
    ...describeOwnFolder(path, gitDir, custodyDir),
    baselineTree: staged.tree,
    baselineCommit: null,
    ...definedOnly({ cleanRoom }),
    exclude: [...exclude, ...staged.oversized.map(({ path: name }) => name)],
    warnings: [...staged.warnings, ...describeLeftBehind(staged.oversized)],
  };
}

async function prepareInPlace(
  options: PrepareOptions,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
): Promise<PreparedWorkspace> {
  const baseline = await takeBaseline(options, attemptDir, repository, user);
  const isSandboxed = options.sandboxed ?? true;
  const agentGitOptions = {
    repository,
    refs: await listRefs(repository),
    path: join(attemptDir, 'agent-git'),
    target: repository.gitDir,
    headRef: repository.headRef,
    headCommit: repository.headCommit,
    indexFile: join(repository.gitDir, 'index'),
    ignoreRules: baseline.ignoreRules,
    givenRefsFile: join(attemptDir, 'given-refs'),
    settingsFile: placeOwnSettings(attemptDir),
    sandboxed: true,
  };
  const project = relative(repository.top, options.projectRoot);
  const { caches, warnings } = await findCaches(options, {
    ...{ top: repository.top, gitDir: baseline.gitDir, like: baseline.tree, home: user.home },
  });
  return describePrepared(options, { attemptDir, home: user.home }, repository, baseline, {
    path: repository.top,
    agentGit: isSandboxed ? await createAgentGit(agentGitOptions) : undefined,
    cleanRoom: await prepareCleanRoom(options, attemptDir, project, agentGitOptions),
    brought: placeCaches(caches, user.home),
    warnings: [...describeLeftBehind(baseline.oversized), ...warnings],
    exclude: baseline.oversized.map(({ path }) => path), // the user's own: a file too large for the baseline is no work of the agent
  });
}

function remedyFor(error: unknown): { remedy?: string } {
  if (error instanceof GitError) return { remedy: error.remedy ?? GIT_REMEDY };
  return error instanceof CaissonError && error.remedy !== undefined ? { remedy: error.remedy } : {};
}

function messageOf(error: unknown): string {
  return error instanceof CaissonError ? error.message : explainError(error);
}
