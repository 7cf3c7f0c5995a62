/** Makes an attempt's folder, its baseline and the agent's git. One function a kind; the record is written last. */
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

import {
  createGit,
  createOwnGitDir,
  EMPTY_TREE,
  emptyTreeLike,
  isErrno,
  stageWorkspace,
} from '@caisson/ground';

import { createAgentGit } from './agent-git.ts';
import type { AgentGit, PreparedWorkspace, PrepareOptions } from './contract.ts';
import { baselineRef, commitTree, ensureOwnCustody, updateRefs } from './custody.ts';
import { WorkspaceError } from './errors.ts';
import { includeFiles } from './include-files.ts';
import { findRepository, type Repository, type UserFolders } from './locate-repository.ts';
import { attemptFolder, writeRecord } from './record.ts';
import { readIgnoreRules, seedIndex } from './seed-index.ts';

export async function prepareWorkspace(given: PrepareOptions, user: UserFolders): Promise<PreparedWorkspace> {
  const options = await withRealPaths(given);
  const attemptDir = await makeAttemptDir(options);
  try {
    const prepared = await prepareKind(options, attemptDir, user);
    await writeRecord(prepared);
    return prepared;
  } catch (error) {
    // No agent has run here: what is removed is only what this call has made.
    await rm(attemptDir, { recursive: true, force: true });
    throw error instanceof WorkspaceError
      ? error
      : new WorkspaceError(`Could not prepare the workspace of ${options.runId}: ${messageOf(error)}`, {
          cause: error,
        });
  }
}

async function withRealPaths(options: PrepareOptions): Promise<PrepareOptions> {
  await mkdir(options.stateDir, { recursive: true });
  const [projectRoot, stateDir] = await Promise.all([
    realpath(options.projectRoot),
    realpath(options.stateDir),
  ]);
  return { ...options, projectRoot, stateDir };
}

async function makeAttemptDir(options: PrepareOptions): Promise<string> {
  const path = attemptFolder(options.stateDir, options.runId, options.attempt);
  await mkdir(join(options.stateDir, 'worktrees'), { recursive: true });
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
  if (options.kind === 'empty') return await prepareEmpty(options, attemptDir);
  const repository = await findRepository(options.projectRoot, user);
  if (options.kind === 'in-place') {
    return repository === null
      ? await prepareFolder(options, attemptDir)
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

async function prepareEmpty(options: PrepareOptions, attemptDir: string): Promise<PreparedWorkspace> {
  const path = join(attemptDir, 'files');
  const gitDir = join(attemptDir, 'git');
  const custodyDir = await ensureOwnCustody(options.stateDir, 'sha1');
  await Promise.all([
    mkdir(path),
    createOwnGitDir({ path: gitDir, objectFormat: 'sha1', objectDir: join(custodyDir, 'objects') }),
  ]);
  return {
    ...common(options, attemptDir),
    path,
    mountPath: path,
    cwd: path,
    gitDir,
    custodyDir,
    isUserRepository: false,
    baselineTree: EMPTY_TREE.sha1,
    baseCommit: null,
    baselineCommit: null,
    exclude: ['.caisson'],
    warnings: [],
  };
}

/** In place, in a folder that no repository holds. */
async function prepareFolder(options: PrepareOptions, attemptDir: string): Promise<PreparedWorkspace> {
  const path = options.projectRoot;
  const gitDir = join(attemptDir, 'git');
  const custodyDir = await ensureOwnCustody(options.stateDir, 'sha1');
  const exclude = excludedPaths(options, path);
  await createOwnGitDir({
    path: gitDir,
    objectFormat: 'sha1',
    objectDir: join(custodyDir, 'objects'),
    ignoreRules: ownRules(exclude),
  });
  const staged = await stageWorkspace({
    workspace: path,
    gitDir,
    exclude,
    like: EMPTY_TREE.sha1,
    ...signalOf(options),
  });
  const baselineCommit = await pinBaseline(options, gitDir, custodyDir, staged.tree, null);
  return {
    ...common(options, attemptDir),
    path,
    mountPath: path,
    cwd: path,
    gitDir,
    custodyDir,
    isUserRepository: false,
    baselineTree: staged.tree,
    baseCommit: null,
    baselineCommit,
    exclude,
    warnings: [...staged.warnings],
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
  const agentGit = isSandboxed
    ? await createAgentGit({
        repository,
        path: join(attemptDir, 'agent-git'),
        target: repository.gitDir,
        headRef: repository.headRef,
        headCommit: repository.headCommit,
        indexFile: join(repository.gitDir, 'index'),
        ignoreRules: baseline.ignoreRules,
        givenRefsFile: join(attemptDir, 'given-refs'),
        sandboxed: true,
      })
    : undefined;
  return describe(options, attemptDir, repository, baseline, {
    path: repository.top,
    agentGit,
    exclude: [],
    warnings: [],
  });
}

async function prepareWorktree(
  options: PrepareOptions,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
): Promise<PreparedWorkspace> {
  const path = join(attemptDir, 'files');
  const [baseline] = await Promise.all([
    options.baseRef === undefined
      ? takeBaseline(options, attemptDir, repository, user)
      : takeBaseFromRef(options, options.baseRef, attemptDir, repository, user),
    mkdir(path),
  ]);
  await checkOut(baseline.gitDir, path, options);
  const isSandboxed = options.sandboxed ?? true;
  const project = relative(repository.top, options.projectRoot);
  const [agentGit, included] = await Promise.all([
    createAgentGit({
      repository,
      path: join(attemptDir, 'agent-git'),
      target: join(repository.top, '.git'),
      headRef: baseline.headRef,
      headCommit: baseline.baseCommit,
      indexFile: join(baseline.gitDir, 'index'),
      ignoreRules: baseline.ignoreRules,
      givenRefsFile: join(attemptDir, 'given-refs'),
      sandboxed: isSandboxed,
    }),
    includeFiles({
      patterns: options.include,
      from: options.projectRoot,
      to: join(path, project),
      ...signalOf(options),
    }),
    isSandboxed
      ? mkdir(join(path, '.git'))
      : writeFile(join(path, '.git'), `gitdir: ${join(attemptDir, 'agent-git')}\n`),
    mkdir(join(path, project), { recursive: true }),
  ]);
  return describe(options, attemptDir, repository, baseline, {
    path,
    agentGit: isSandboxed ? agentGit : undefined,
    exclude: included.brought.map((name) => join(project, name)),
    warnings: included.missing.map((name) => `workspace.include: ${name} is not in ${options.projectRoot}`),
  });
}

interface Baseline {
  readonly gitDir: string;
  readonly tree: string;
  readonly headRef: string | null;
  readonly baseCommit: string | null;
  readonly baselineCommit: string | null;
  readonly exclude: readonly string[];
  readonly ignoreRules: string;
  readonly warnings: readonly string[];
}

/** The user's present files: committed, uncommitted and untracked, without what is ignored. */
async function takeBaseline(
  options: PrepareOptions,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
): Promise<Baseline> {
  const exclude = excludedPaths(options, repository.top);
  const { gitDir, ignoreRules } = await makeGitDir(attemptDir, repository, user, exclude);
  const { headCommit } = repository;
  const [staged, headTree] = await Promise.all([
    seedIndex(repository, gitDir, user).then(() =>
      stageWorkspace({
        workspace: repository.top,
        gitDir,
        exclude,
        like: EMPTY_TREE[repository.objectFormat],
        ...signalOf(options),
      }),
    ),
    headCommit === null ? null : treeOf(gitDir, headCommit),
  ]);
  const isClean = staged.tree === headTree;
  const baselineCommit = isClean
    ? headCommit
    : await pinBaseline(options, gitDir, repository.commonDir, staged.tree, headCommit);
  const nested = staged.nested.map(
    (name) => `${name} is a repository of its own; its files are in the workspace, its history is not`,
  );
  return {
    gitDir,
    tree: staged.tree,
    headRef: repository.headRef,
    baseCommit: headCommit,
    baselineCommit,
    exclude,
    ignoreRules,
    warnings: [...nested, ...staged.warnings],
  };
}

async function takeBaseFromRef(
  options: PrepareOptions,
  baseRef: string,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
): Promise<Baseline> {
  const exclude = excludedPaths(options, repository.top);
  const foreign = createGit({ cwd: repository.top, gitDir: repository.gitDir, foreign: true });
  const resolved = await foreign.run(
    ['rev-parse', '--verify', '--quiet', '--end-of-options', `${baseRef}^{commit}`],
    {
      okExitCodes: [0, 1, 128],
    },
  );
  if (resolved.exitCode !== 0) {
    throw new WorkspaceError(`--base ${JSON.stringify(baseRef)} names no commit in ${repository.top}.`, {
      remedy: 'Use a branch, a tag or a commit id that `git log` knows.',
    });
  }
  const baseCommit = resolved.stdout.toString('utf8').trim();
  const { gitDir, ignoreRules } = await makeGitDir(attemptDir, repository, user, exclude);
  const [tree] = await Promise.all([
    treeOf(gitDir, baseCommit),
    createGit({ cwd: gitDir, gitDir, workTree: gitDir }).run(['read-tree', baseCommit]),
  ]);
  const headRef = repository.refs.find((ref) => ref.name === `refs/heads/${baseRef}`)?.name ?? null;
  return {
    gitDir,
    tree,
    headRef,
    baseCommit,
    baselineCommit: baseCommit,
    exclude,
    ignoreRules,
    warnings: [],
  };
}

async function makeGitDir(
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
  exclude: readonly string[],
): Promise<{ gitDir: string; ignoreRules: string }> {
  const gitDir = join(attemptDir, 'git');
  const ignoreRules = (await readIgnoreRules(repository, user)) + ownRules(exclude);
  const shallowFile = join(repository.commonDir, 'shallow');
  const options = {
    path: gitDir,
    objectFormat: repository.objectFormat,
    objectDir: repository.objectDir,
    ignoreRules,
  };
  await createOwnGitDir(repository.isShallow ? { ...options, shallowFile } : options);
  return { gitDir, ignoreRules };
}

/** Writes the index's files into the workspace and remembers their times in the index. */
async function checkOut(gitDir: string, path: string, options: PrepareOptions): Promise<void> {
  const git = createGit({ cwd: path, gitDir, workTree: path, timeoutMs: 600_000, ...signalOf(options) });
  await git.run(['checkout-index', '--all', '--index', '--quiet'], { config: ['checkout.workers=2'] });
}

/** A commit of the baseline where no commit of the user's has that tree, kept from `git gc` by a ref of ours. */
async function pinBaseline(
  options: PrepareOptions,
  gitDir: string,
  custodyDir: string,
  tree: string,
  parent: string | null,
): Promise<string | null> {
  if (parent === null && tree === emptyTreeLike(tree)) return null;
  const commit = await commitTree(gitDir, {
    tree,
    parents: parent === null ? [] : [parent],
    message: `caisson: files before ${options.runId}, attempt ${options.attempt}\n`,
  });
  await updateRefs(custodyDir, new Map([[baselineRef(options.runId, options.attempt), commit]]));
  return commit;
}

async function treeOf(gitDir: string, commit: string): Promise<string> {
  return await createGit({ cwd: gitDir, gitDir }).text(['rev-parse', '--verify', `${commit}^{tree}`]);
}

function describe(
  options: PrepareOptions,
  attemptDir: string,
  repository: Repository,
  baseline: Baseline,
  made: {
    path: string;
    agentGit: AgentGit | undefined;
    exclude: readonly string[];
    warnings: readonly string[];
  },
): PreparedWorkspace {
  const mountPath = (options.sandboxed ?? true) ? repository.top : made.path;
  return {
    ...common(options, attemptDir),
    path: made.path,
    mountPath,
    cwd: join(mountPath, relative(repository.top, options.projectRoot)),
    gitDir: baseline.gitDir,
    custodyDir: repository.commonDir,
    isUserRepository: true,
    baselineTree: baseline.tree,
    baseCommit: baseline.baseCommit,
    baselineCommit: baseline.baselineCommit,
    exclude: [...baseline.exclude, ...made.exclude],
    ...(made.agentGit === undefined ? {} : { agentGit: made.agentGit }),
    warnings: [...baseline.warnings, ...made.warnings],
  };
}

function common(options: PrepareOptions, attemptDir: string) {
  return {
    schemaVersion: 1 as const,
    kind: options.kind,
    runId: options.runId,
    attempt: options.attempt,
    projectRoot: options.projectRoot,
    attemptDir,
    ...(options.branch === undefined ? {} : { branch: options.branch }),
  };
}

/** The state folder, and every place where the agent's mailbox may appear. */
function excludedPaths(options: PrepareOptions, top: string): string[] {
  const candidates = [
    '.caisson',
    relative(top, join(options.projectRoot, '.caisson')),
    relative(top, options.stateDir),
  ];
  return [...new Set(candidates.filter((path) => path !== '' && path !== '..' && !path.startsWith('../')))];
}

/** The same paths as ignore rules, so that git does not even walk them. */
function ownRules(exclude: readonly string[]): string {
  return exclude.map((path) => `/${path.replace(/[\\*?[\]# !]/g, (found) => `\\${found}`)}/\n`).join('');
}

function signalOf(options: PrepareOptions): { signal?: AbortSignal } {
  return options.signal === undefined ? {} : { signal: options.signal };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
