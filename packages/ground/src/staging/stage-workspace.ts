/**
 * Turns the files of a folder into a git tree: what `.gitignore` leaves, minus what the caller excludes,
 * byte for byte.
 *
 * S1  A repository inside the folder (an agent ran `git init` or `git clone`, or a submodule is checked out) is
 *     staged as its files, never as a bare commit id whose objects would be lost; its path is reported.
 * S2  The index of the git dir is replaced only by a finished one: a killed stage leaves no lock behind.
 * S3  What cannot be read is reported by name; everything else is still staged.
 * S4  A folder in which nothing has changed since it was staged last is not staged again (see staged-memory.ts).
 * S6  What is too large to be read in reasonable time is left out and reported by name (see oversized-files.ts).
 * S5  What is excluded now but was staged before (a checkpoint takes more than a patch does) goes back to the
 *     baseline: the tree depends on the exclusions given, not on those of the call before.
 * S7  A file outside a sparse checkout that is there all the same is staged; one that is not there is not deleted.
 * S8  A pipe where git expects a file of its own holds nobody up (see held-by-pipes.ts).
 */
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { addFiles } from './add-files.ts';
import {
  copyIndex,
  createGit,
  type Git,
  mayHaveSkipped,
  readIndexSummary,
  EMPTY_TREE,
  objectFormatOf,
  revealEntries,
  spliceEntries,
} from '../git/index.ts';
import { isErrno } from '../platform/index.ts';
import { unlessHeldByPipes } from './held-by-pipes.ts';
import { findOversized, mayBeOversized, type OversizedFile, type StageLimits } from './oversized-files.ts';
import { createPresence, hasFiles, openFolder } from './workspace-folder.ts';
import { readStagedExclusions, recallStaged, rememberStaged, takeMark } from './staged-memory.ts';

export interface StageOptions {
  readonly workspace: string;
  /** A git dir of ours; its `index` is the memory of what was staged last. */
  readonly gitDir: string;
  /** Paths relative to the workspace that stay as they were in the baseline. */
  readonly exclude: readonly string[];
  /** Tree of the first stage in this git dir; later ones take excluded paths from it (S5). */
  readonly baselineTree?: string;
  /** Object id of any object of this git dir; tells its format. */
  readonly like: string;
  /** Larger files stay as they were in the baseline (S6). Default: no limit. */
  readonly limits?: StageLimits | undefined;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface StagedWorkspace {
  readonly tree: string;
  /** Repositories found inside, staged as files (S1). */
  readonly nested: readonly string[];
  /** What could not be staged, in git's words (S3). */
  readonly warnings: readonly string[];
  /** What was left out because of its size (S6). */
  readonly oversized: readonly OversizedFile[];
  /** Whether nothing at all was touched since the folder was made, ignored files included. */
  readonly isFirst?: boolean | undefined;
}

let stageCount = 0;

export async function stageWorkspace(options: StageOptions): Promise<StagedWorkspace> {
  await openFolder(options.workspace);
  const remembered = await recallStaged(options);
  if (remembered !== null) return remembered;
  const index = join(options.gitDir, 'index');
  const draft = join(options.gitDir, `index.${process.pid}.${(stageCount += 1)}`);
  try {
    const since = await takeMark(options.gitDir);
    const git = gitFor(options, options.workspace, draft);
    const added = await unlessHeldByPipes(options.workspace, options.signal, (signal) =>
      addWithinLimits({ ...options, signal }, index, draft),
    ); // S8
    const { nested, oversized, rootTree } = added.value;
    const warnings = [...added.warnings, ...added.value.warnings];
    const tree = rootTree ?? (await writeTree(git, draft));
    await renameIfThere(draft, index); // S2
    const staged = { tree, nested, warnings, oversized };
    await rememberStaged(options, staged, since); // S4
    return staged;
  } finally {
    await Promise.all([rm(draft, { force: true }), rm(`${draft}.lock`, { force: true })]);
  }
}

/**
 * S6: most folders hold nothing that could be too large. Git begins as if that were so, and we look while it works; what
 * it has done is thrown away where we were wrong.
 */
async function addWithinLimits(options: StageOptions, index: string, draft: string): Promise<Added> {
  const { workspace, exclude, limits } = options;
  const git = await openDraft(options, index, draft);
  if (limits === undefined) return await addEverything(options, git, workspace, draft, '');
  const tooMuch = new AbortController();
  const signals = [tooMuch.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const guess = { ...options, limits: undefined, signal: AbortSignal.any(signals) };
  const added = addEverything(guess, gitFor(guess, workspace, draft), workspace, draft, '');
  if (!mayBeOversized(workspace, exclude, limits)) return await added;
  tooMuch.abort();
  await added.catch(() => undefined); // it was stopped; only its files must be out of the way
  return await addEverything(options, await openDraft(options, index, draft), workspace, draft, '');
}

async function openDraft(options: StageOptions, index: string, draft: string): Promise<Git> {
  await Promise.all([rm(draft, { force: true }), rm(`${draft}.lock`, { force: true })]);
  if (await copyIndex(index, draft)) await revealPresent(options, draft);
  const git = gitFor(options, options.workspace, draft);
  await unstageExcluded(options, git);
  return git;
}

/** S7 */
async function revealPresent(options: StageOptions, draft: string): Promise<void> {
  const index = await readFile(draft);
  if (!mayHaveSkipped(index)) return;
  const revealed = revealEntries(index, options.like.length / 2, createPresence(options.workspace));
  if (revealed === null) return;
  const { atime, mtime } = await stat(draft);
  await writeFile(draft, revealed);
  await utimes(draft, atime, mtime);
}

/** S5 */
async function unstageExcluded(options: StageOptions, git: Git): Promise<void> {
  if (options.baselineTree === undefined) return;
  const before = await readStagedExclusions(options, options.baselineTree);
  const paths = options.exclude.filter((path) => before !== null && !before.includes(path));
  if (paths.length === 0) return;
  const pathspec = paths.map((path) => `:(top,literal)${path}`);
  await git.run(['reset', '-q', options.baselineTree, '--', ...pathspec]);
}

/**
 * `add` has just compared every file; an index that looks newer than all of them spares `write-tree` from doing so
 * again. The index it writes has the true time.
 */
async function writeTree(git: Git, index: string): Promise<string> {
  const later = Date.now() / 1000 + 10;
  try {
    await utimes(index, later, later);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error; // only empty repositories are there: git wrote no index
  }
  return await git.text(['write-tree']);
}

/** Git writes no index for a folder in which there was nothing to add. */
async function summariseIndex(
  index: string,
  like: string,
): Promise<{ gitlinks: readonly Buffer[]; rootTree: string | null }> {
  try {
    return readIndexSummary(await readFile(index), like.length / 2);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { gitlinks: [], rootTree: emptyTreeLike(like) };
    throw error;
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}

interface Added {
  readonly nested: readonly string[];
  readonly warnings: readonly string[];
  readonly oversized: readonly OversizedFile[];
  /** Size of everything that had to be read. */
  readonly stagedBytes: number;
  /** The tree, when the index remembers it. */
  readonly rootTree: string | null;
}

async function addEverything(
  options: StageOptions,
  git: Git,
  folder: string,
  index: string,
  prefix: string,
): Promise<Added> {
  // A nested repository is staged by itself: what is excluded in it is named from its own top there.
  const exclude = options.exclude
    .filter((path) => path.startsWith(prefix) && path !== prefix)
    .map((path) => path.slice(prefix.length));
  const pathspec = ['.', ...exclude.map((path) => `:(top,exclude,literal)${path}`)];
  const found =
    options.limits === undefined
      ? { names: [], files: [], stagedBytes: 0 }
      : await findOversized(git, folder, prefix, pathspec, options.limits);
  const problems = await addFiles(git, pathspec, found.names);
  const summary = await summariseIndex(index, options.like);
  const isExcluded = (path: string): boolean =>
    exclude.some((entry) => path === entry || path.startsWith(`${entry}/`));
  const linked = summary.gitlinks.map((path) => path.toString('utf8')).filter((path) => !isExcluded(path));
  let { rootTree } = summary;
  const warnings = problems.other.map((problem) => (prefix === '' ? problem : `${prefix}: ${problem}`));
  const nested: string[] = [];
  const oversized = [...found.files];
  let { stagedBytes } = found;
  for (const path of [...linked, ...problems.unborn]) {
    if (!(await hasFiles(join(folder, path)))) continue;
    const inner = await flatten(withRoomLeft(options, stagedBytes), git, folder, path, index, prefix + path);
    rootTree = null;
    nested.push(prefix + path, ...inner.nested);
    warnings.push(...inner.warnings);
    oversized.push(...inner.oversized);
    stagedBytes += inner.stagedBytes;
  }
  return { nested, warnings, oversized, stagedBytes, rootTree };
}

function withRoomLeft(options: StageOptions, stagedBytes: number): StageOptions {
  const { limits } = options;
  if (limits === undefined) return options;
  return { ...options, limits: { ...limits, maxTotalBytes: limits.maxTotalBytes - stagedBytes } };
}

/** S1: stages the nested folder through an index of its own and splices the entries in where the link was. */
async function flatten(
  options: StageOptions,
  git: Git,
  folder: string,
  path: string,
  index: string,
  fullPath: string,
): Promise<Added> {
  const inner = join(folder, path);
  const innerIndex = `${index}.n`;
  try {
    const innerGit = gitFor(options, inner, innerIndex);
    const added = await addEverything(options, innerGit, inner, innerIndex, `${fullPath}/`);
    const entries = (await innerGit.run(['ls-files', '-s', '-z'])).stdout;
    await git.run(['update-index', '-z', '--index-info'], {
      stdin: spliceEntries(path, entries, options.like),
    });
    return added;
  } finally {
    await rm(innerIndex, { force: true });
  }
}

function gitFor(options: StageOptions, workTree: string, indexFile: string): Git {
  return createGit({
    cwd: workTree,
    gitDir: options.gitDir,
    workTree,
    indexFile,
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}

/** The tree without entries, in the format of `like`. */
export function emptyTreeLike(like: string): string {
  return EMPTY_TREE[objectFormatOf(like)];
}
