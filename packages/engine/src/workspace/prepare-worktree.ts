/** A worktree: our own folder with the baseline's files, and a git dir for the agent. */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import {
  createGit,
  includeFiles,
  rememberStaged,
  takeMark,
  type OversizedFile,
  type Ref,
  type StageMark,
} from '@caisson/ground';
import { shellQuote } from '@caisson/protocol';

import { createAgentGit, type AgentGitOptions } from './agent-git.ts';
import { awaitAll } from './await-all.ts';
import { besideGc } from './beside-gc.ts';
import { describeLeftBehind, takeBaseFromRef, takeBaseline, type Baseline } from './baseline.ts';
import type { EarlierWork, PreparedWorkspace, PrepareOptions } from './contract.ts';
import { writeAgentIndex } from './conversions.ts';
import { prepareCleanRoom } from './prepare-clean-room.ts';
import { describePrepared } from './describe-prepared.ts';
import { describeLostWork, findBaselineCommit, seedWithWork } from './earlier-work.ts';
import { placeCaches } from './brought-caches.ts';
import { findBrought, placeFolders } from './find-brought.ts';
import { beginWithMerged } from './merge-problem.ts';
import { rememberIncluded } from './included-memory.ts';
import { placeOwnSettings } from './git-settings.ts';
import { listRefs, type Repository, type UserFolders } from './locate-repository.ts';
import { excludedPaths, makeGitDir, signalOf } from './stage-present.ts';

/** How often to wait until the file system's clock moves; it does so every 1 to 10 ms. */
const MAX_TICKS = 20;

export async function prepareWorktree(
  options: PrepareOptions,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
): Promise<PreparedWorkspace> {
  const path = join(attemptDir, 'files');
  const isSandboxed = options.sandboxed ?? true;
  const project = relative(repository.top, options.projectRoot);
  const mounted = makeMountPoints(attemptDir, path, project, isSandboxed);
  // A prune that began before our refs were written may take an object after they were: then files cannot be written.
  const { baseline, refs, found } = await besideGc(
    (isAgain) => writeFiles(options, { attemptDir, path, mounted, isAgain }, repository, user),
    () => rm(join(attemptDir, 'git'), { recursive: true, force: true }),
  );
  const include = [...options.include, ...found.files];
  const agentGitOptions = describeAgentGit({ attemptDir, repository, baseline, refs, isSandboxed });
  const [agentGit, cleanRoom, included] = await awaitAll([
    createAgentGit(agentGitOptions),
    prepareCleanRoom({ ...options, include }, attemptDir, project, agentGitOptions),
    includeFiles({
      patterns: include,
      from: options.projectRoot,
      to: join(path, project),
      ...signalOf(options),
    }),
  ]);
  const conversions = baseline.conversions ?? [];
  if (conversions.length > 0)
    await writeAgentIndex(join(attemptDir, 'agent-git', 'index'), path, conversions);
  const copied = included.brought.map((name) => join(project, name));
  const brought = placeFolders(found.folders, repository.top, path);
  const prepared = describePrepared(options, { attemptDir, home: user.home }, repository, baseline, {
    path,
    agentGit: isSandboxed ? agentGit : undefined,
    cleanRoom,
    brought: [...brought, ...placeCaches(found.caches, user.home)],
    exclude: [...copied, ...brought.map((folder) => folder.path)],
    warnings: [
      ...found.warnings,
      ...included.missing.map((name) => describeMissing(options, name)),
      ...describeUnseen(
        baseline.oversized.filter((file) => !copied.includes(file.path)),
        (file) => existsSync(join(path, file.path)),
      ),
    ],
  });
  const mark = await rememberCheckout(prepared);
  await rememberIncluded(prepared, copied, mark.changedAtMs);
  return prepared;
}

/** The baseline, and its files in the workspace. */
async function writeFiles(
  options: PrepareOptions,
  place: { attemptDir: string; path: string; mounted: Promise<void>; isAgain: boolean },
  repository: Repository,
  user: UserFolders,
) {
  const start = findStart(options, place.attemptDir, repository, user, place.isAgain);
  const [baseline] = await awaitAll([start, place.mounted]);
  const [refs, found] = await awaitAll([
    listRefs(repository),
    findBrought(options, {
      ...{ top: repository.top, gitDir: baseline.gitDir, like: baseline.tree, home: user.home },
      oversized: baseline.oversized.map((file) => file.path),
    }),
    checkOut(baseline.gitDir, place.path, options, place.isAgain),
  ]);
  return { baseline, refs, found };
}

interface WorktreeGit {
  readonly attemptDir: string;
  readonly repository: Repository;
  readonly baseline: Baseline;
  readonly refs: readonly Ref[];
  readonly isSandboxed: boolean;
}

function describeAgentGit({
  attemptDir,
  repository,
  baseline,
  refs,
  isSandboxed,
}: WorktreeGit): AgentGitOptions {
  return {
    repository,
    refs,
    path: join(attemptDir, 'agent-git'),
    target: join(repository.top, '.git'),
    headRef: baseline.headRef,
    headCommit: baseline.baseCommit,
    indexFile: join(baseline.gitDir, 'index'),
    ignoreRules: baseline.ignoreRules,
    givenRefsFile: join(attemptDir, 'given-refs'),
    settingsFile: placeOwnSettings(attemptDir),
    sandboxed: isSandboxed,
  };
}

/** What git tracks is not replaced by a copy. */
function describeUnseen(
  files: readonly OversizedFile[],
  isTracked: (file: OversizedFile) => boolean,
): string[] {
  const unseen = files.filter((file) => !isTracked(file));
  const bring = unseen.slice(0, 1).map(({ path }) => `--bring ${shellQuote(path)}`);
  const one = unseen.length === 1 ? 'it; name it' : 'them; name each';
  return [
    ...describeLeftBehind(files.filter(isTracked)).map(
      (said) => `${said}: the run sees what git has of it; with a higher limit it sees the file`,
    ),
    ...describeLeftBehind(unseen).map((said) => `${said}: the run does not see ${one}: ${bring.join('')}`),
  ];
}

function describeMissing({ projectRoot }: PrepareOptions, name: string): string {
  return `workspace.include: ${name} is not in ${projectRoot}, or is behind a link`;
}

async function findStart(
  options: PrepareOptions,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
  isAgain: boolean,
): Promise<Baseline> {
  const { work, merge } = options;
  const continued =
    work === undefined ? null : await takeEarlierWork(options, work, attemptDir, repository, user);
  if (continued !== null) return continued;
  const base = options.fetched?.commit ?? options.baseRef;
  const fresh =
    base === undefined
      ? await takeBaseline(options, attemptDir, repository, user, isAgain)
      : await takeBaseFromRef(options, base, attemptDir, repository, user);
  if (merge !== undefined) return await beginWithMerged(fresh, merge, options);
  return work === undefined ? fresh : { ...fresh, warnings: [...fresh.warnings, describeLostWork(work)] };
}

async function takeEarlierWork(
  options: PrepareOptions,
  work: EarlierWork,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
): Promise<Baseline | null> {
  const exclude = excludedPaths(options, repository.top);
  const { gitDir, ignoreRules } = await makeGitDir(attemptDir, repository, user, exclude);
  const startTree = await seedWithWork(gitDir, repository.commonDir, work, options);
  if (startTree === null) {
    await rm(gitDir, { recursive: true, force: true });
    return null;
  }
  return {
    gitDir,
    tree: work.baselineTree,
    startTree,
    headRef: work.baseCommit === repository.headCommit ? repository.headRef : null,
    baseCommit: work.baseCommit,
    baselineCommit: findBaselineCommit(work),
    exclude,
    ignoreRules,
    warnings: [],
    oversized: [],
  };
}

/** Made before the files, so that binding over them later changes nothing in the workspace. */
async function makeMountPoints(
  attemptDir: string,
  path: string,
  project: string,
  isSandboxed: boolean,
): Promise<void> {
  const dotGit = join(path, '.git');
  await mkdir(join(path, project, '.caisson'), { recursive: true });
  await mkdir(join(path, '.caisson'), { recursive: true });
  await (isSandboxed ? mkdir(dotGit) : writeFile(dotGit, `gitdir: ${join(attemptDir, 'agent-git')}\n`));
}

/** Lets an unchanged workspace be captured and saved without reading files. */
async function rememberCheckout(prepared: PreparedWorkspace): Promise<StageMark> {
  const settled = await takeMark(prepared.gitDir);
  let mark = await takeMark(prepared.gitDir);
  for (let tries = 0; mark.changedAtMs <= settled.changedAtMs && tries < MAX_TICKS; tries += 1) {
    await setTimeout(1); // the file system's clock moves in steps of some milliseconds
    mark = await takeMark(prepared.gitDir);
  }
  const staged = {
    tree: prepared.startTree ?? prepared.baselineTree,
    nested: [],
    warnings: [],
    oversized: [],
    isFirst: true,
  };
  await rememberStaged({ ...prepared, workspace: prepared.path }, staged, mark);
  return mark;
}

/** Writes the index's files into the workspace and remembers their times in the index. */
export async function checkOut(
  gitDir: string,
  path: string,
  options: PrepareOptions,
  isAgain = false,
): Promise<void> {
  const git = createGit({ cwd: path, gitDir, workTree: path, timeoutMs: 600_000, ...signalOf(options) });
  const args = ['--all', '--index', '--quiet', ...(isAgain ? ['--force'] : [])]; // some files are there then
  await git.run(['checkout-index', ...args], { config: ['checkout.workers=4'] });
}
