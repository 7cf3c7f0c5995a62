/**
 * Turns the files of a folder into a git tree: what `.gitignore` leaves, minus what the caller excludes, byte for byte.
 *
 * S1  A repository inside the folder (an agent ran `git init` or `git clone`, or a submodule is checked out) is staged
 *     as its files, never as a bare commit id whose objects would be lost; its path is reported.
 * S2  The index of the git dir is replaced only by a finished one: a killed stage leaves no lock behind.
 * S3  What cannot be read is reported by name; everything else is still staged.
 * S4  A folder in which nothing has changed since it was staged last is not staged again (see staged-memory.ts).
 * S6  What is too large to be read in reasonable time is left out and reported by name (see oversized-files.ts).
 * S5  What is excluded now but was staged before (a checkpoint contains more than a patch does) is reset to the
 *     baseline: the tree depends on the given exclusions, not on those of the call before.
 * S7  A file outside a sparse checkout that exists anyway is staged; one that does not exist is not deleted.
 * S8  A pipe where git expects a file does not block (see held-by-pipes.ts).
 * S9  What rules hide from the agent is not read, and stays as it is in the index (see hidden-files.ts).
 */
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { copyIndex, revealEntries, writeIndexTree, type Git } from '../git/index.ts';
import { isErrno, showPath } from '../platform/index.ts';
import { addEverything, gitFor, type Added, type AddOptions, type StageOptions } from './add-everything.ts';
import { recallHidden, rememberHidden } from './hidden-files.ts';
import { unlessHeldByPipes } from './held-by-pipes.ts';
import { mayBeOversized, type OversizedFile } from './oversized-files.ts';
import {
  readStagedExclusions,
  recallNested,
  recallStaged,
  rememberStaged,
  takeMark,
} from './staged-memory.ts';
import { createPresence, openFolder } from './workspace-folder.ts';

export interface StagedWorkspace {
  readonly tree: string;
  /** Repositories found inside, staged as files (S1). */
  readonly nested: readonly string[];
  /** What could not be staged, in git's words (S3). */
  readonly warnings: readonly string[];
  /** What was left out because of its size (S6). */
  readonly oversized: readonly OversizedFile[];
  /** What was left out because it is hidden, and no earlier stage remembered, relative to the workspace, as readable text (S9). */
  readonly hidden?: readonly string[] | undefined;
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
    const hidden = await recallHidden(options.gitDir);
    const added = await unlessHeldByPipes(options.workspace, options.signal, (signal) =>
      addWithinLimits({ ...options, hidden, signal }, index, draft),
    ); // S8
    const { oversized, rootTree } = added.value;
    const nested = [...new Set([...added.value.nested, ...(await recallNested(options))])];
    const warnings = [...added.warnings, ...added.value.warnings];
    const tree =
      rootTree ??
      (await writeIndexTree(options.gitDir, draft, options.like)) ??
      (await writeTree(git, draft));
    await renameIfThere(draft, index); // S2
    const staged = { tree, nested, warnings, oversized };
    const nowHidden = added.value.hidden.map((name) => showPath(name));
    const { remembersHidden = false } = options;
    if (remembersHidden) await rememberHidden(options.gitDir, [...hidden, ...added.value.hidden]); // S9
    await rememberStaged(options, { ...staged, hidden: remembersHidden ? [] : nowHidden }, since); // S4
    return { ...staged, hidden: nowHidden };
  } finally {
    await Promise.all([rm(draft, { force: true }), rm(`${draft}.lock`, { force: true })]);
  }
}

/**
 * S6: most folders contain nothing that could be too large. Git begins as if that were so, and we check while it works;
 * its result is discarded if we were wrong.
 */
async function addWithinLimits(options: AddOptions, index: string, draft: string): Promise<Added> {
  const { workspace, exclude, limits } = options;
  const git = await openDraft(options, index, draft);
  if (limits === undefined) return await addEverything(options, git, workspace, draft, '');
  const tooMuch = new AbortController();
  const signals = [tooMuch.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const guess = { ...options, limits: undefined, signal: AbortSignal.any(signals) };
  const added = addEverything(guess, gitFor(guess, workspace, draft), workspace, draft, '');
  if (!mayBeOversized(workspace, exclude, limits)) return await added;
  tooMuch.abort();
  await added.catch(() => undefined); // it was stopped; only its files must be removed
  return await addEverything(options, await openDraft(options, index, draft), workspace, draft, '');
}

async function openDraft(options: StageOptions, index: string, draft: string): Promise<Git> {
  await Promise.all([rm(draft, { force: true }), rm(`${draft}.lock`, { force: true })]);
  if (await copyIndex(index, draft)) await revealPresent(options, draft);
  const git = gitFor(options, options.workspace, draft);
  await unstageExcluded(options, git);
  return git;
}

/** S7. Throws `RangeError` for an index with paths outside the workspace: git would read those files. */
async function revealPresent(options: StageOptions, draft: string): Promise<void> {
  const index = await readFile(draft);
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
 * `add` has just compared every file; an index that looks newer than all of them saves `write-tree` from doing so
 * again. The index it writes has the true time.
 */
async function writeTree(git: Git, index: string): Promise<string> {
  const later = Date.now() / 1000 + 10;
  try {
    await utimes(index, later, later);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error; // there are only empty repositories: git wrote no index
  }
  return await git.text(['write-tree']);
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}
