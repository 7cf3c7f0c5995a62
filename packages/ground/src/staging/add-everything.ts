/** Adds the files of a folder to an index, and those of the repositories inside it (rules S1, S3, S6 and S9). */
import { closeSync, constants, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { definedOnly } from '@caisson/protocol';
import { createGit, emptyTreeLike, readIndexSummary, spliceEntries, type Git } from '../git/index.ts';
import { isErrno, showPath } from '../platform/index.ts';
import { addFiles } from './add-files.ts';
import { below, dropConflicts, findHidden, namesIn } from './hidden-files.ts';
import {
  findOversized,
  listChanged,
  type FoundOversized,
  type OversizedFile,
  type StageLimits,
} from './oversized-files.ts';
import { hasFiles, isBehindLink } from './workspace-folder.ts';

const NUL = Buffer.from([0]);

export interface StageOptions {
  readonly workspace: string;
  /** A git dir of ours; its `index` remembers what was staged last. */
  readonly gitDir: string;
  /** Paths relative to the workspace that stay as they were in the baseline. */
  readonly exclude: readonly string[];
  /** Tree of the first stage in this git dir; later ones restore excluded paths from it (S5). */
  readonly baselineTree?: string;
  /** Object id of any object of this git dir; shows its format. */
  readonly like: string;
  /** Larger files stay as they were in the baseline (S6). Default: no limit. */
  readonly limits?: StageLimits | undefined;
  /** Which paths, relative to the workspace, stay as they are in the index (S9). */
  readonly hides?: ((path: string) => boolean) | null | undefined;
  /** Whether what is hidden now was there before the agent: later stages do not report it (N4). */
  readonly remembersHidden?: boolean;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** `hidden`: what earlier stages hid. */
export type AddOptions = StageOptions & { readonly hidden: readonly Buffer[] };

export interface Added {
  readonly nested: readonly string[];
  readonly warnings: readonly string[];
  readonly oversized: readonly OversizedFile[];
  /** What was left out because it is hidden, and no earlier stage remembered, relative to the workspace (S9). */
  readonly hidden: readonly Buffer[];
  /** Size of everything that had to be read. */
  readonly stagedBytes: number;
  /** The tree, when the index remembers it. */
  readonly rootTree: string | null;
}

/** Adds a folder with all that is nested in it, to the index of this git. */
export async function addEverything(
  options: AddOptions,
  git: Git,
  folder: string,
  index: string,
  prefix: string,
): Promise<Added> {
  // A nested repository is staged by itself: its exclusions are relative to its own top.
  const exclude = options.exclude
    .filter((path) => path.startsWith(prefix) && path !== prefix)
    .map((path) => path.slice(prefix.length))
    .filter((path) => !isBehindLink(folder, path)); // git refuses to name what it would not reach
  const pathspec = ['.', ...exclude.map((path) => `:(top,exclude,literal)${path}`)];
  await dropLinks(git, folder, index, options.like);
  const { before, hidden, found } = await findLeftOut(options, git, { folder, prefix, pathspec });
  const problems = await addFiles(git, pathspec, [...before, ...hidden, ...found.names]);
  const summary = await summariseIndex(index, options.like);
  const isExcluded = (path: string): boolean =>
    exclude.some((entry) => path === entry || path.startsWith(`${entry}/`));
  const linked = summary.gitlinks.filter((path) => !isExcluded(path.toString('utf8')));
  let { rootTree } = summary;
  const warnings = problems.other.map((problem) => (prefix === '' ? problem : `${prefix}: ${problem}`));
  const nested: string[] = [];
  const oversized = [...found.files];
  const allHidden: Buffer[] = hidden.map((name) => Buffer.concat([Buffer.from(prefix), name]));
  let { stagedBytes } = found;
  for (const path of [...linked, ...problems.unborn.map((name) => Buffer.from(name))]) {
    if (!(await hasFiles(pathIn(folder, path)))) continue;
    const shown = prefix + showPath(path);
    const inner = await flatten(withBytesLeft(options, stagedBytes), git, folder, path, index, shown);
    rootTree = null;
    nested.push(shown, ...inner.nested);
    warnings.push(...inner.warnings);
    oversized.push(...inner.oversized);
    allHidden.push(...inner.hidden);
    stagedBytes += inner.stagedBytes;
  }
  return { nested, warnings, oversized, hidden: allHidden, stagedBytes, rootTree };
}

/** What is not read, relative to the git's work tree: what was hidden before, what is now (S9), what is too large (S6). */
async function findLeftOut(
  { limits, hides, hidden: hiddenBefore }: AddOptions,
  git: Git,
  { folder, prefix, pathspec }: { folder: string; prefix: string; pathspec: readonly string[] },
): Promise<{ before: readonly Buffer[]; hidden: readonly Buffer[]; found: FoundOversized }> {
  const before = below(prefix, hiddenBefore).filter((name) => !isBehindLink(folder, name.toString('utf8')));
  const hidesSome = hides !== undefined && hides !== null;
  const changed = hidesSome || limits !== undefined ? await listChanged(git, pathspec) : [];
  const isBefore = namesIn(before);
  const hidden = hidesSome ? findHidden(changed, prefix, hides).filter((name) => !isBefore(name)) : [];
  const all = [...before, ...hidden];
  if (all.length > 0) await dropConflicts(git, all);
  if (limits === undefined) return { before, hidden, found: { names: [], files: [], stagedBytes: 0 } };
  const isHidden = namesIn(all);
  const read = changed.filter((name) => !isHidden(name));
  return { before, hidden, found: findOversized(read, folder, prefix, limits) };
}

function withBytesLeft(options: AddOptions, stagedBytes: number): AddOptions {
  const { limits } = options;
  if (limits === undefined) return options;
  return { ...options, limits: { ...limits, maxTotalBytes: limits.maxTotalBytes - stagedBytes } };
}

/**
 * A link to a repository that is there leaves the index: git would ask that repository for its status, with the settings
 * it has (G3). What is in it is added again.
 */
async function dropLinks(git: Git, folder: string, index: string, like: string): Promise<void> {
  const { gitlinks } = await summariseIndex(index, like);
  const filled: Buffer[] = [];
  for (const path of gitlinks) if (await hasFiles(pathIn(folder, path))) filled.push(path, NUL);
  if (filled.length > 0)
    await git.run(['update-index', '-z', '--force-remove', '--stdin'], { stdin: Buffer.concat(filled) });
}

/** S1: stages the nested folder through its own index and splices the entries in where the link was. */
async function flatten(
  options: AddOptions,
  git: Git,
  folder: string,
  path: Buffer,
  index: string,
  fullPath: string,
): Promise<Added> {
  const innerIndex = `${index}.n`;
  const opened = openSync(
    pathIn(folder, path),
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  try {
    const inner = nameFolder(folder, path, opened);
    const innerGit = gitFor(options, inner, innerIndex);
    const added = await addEverything(options, innerGit, inner, innerIndex, `${fullPath}/`);
    const entries = (await innerGit.run(['ls-files', '-s', '-z'])).stdout;
    await git.run(['update-index', '-z', '--index-info'], {
      stdin: spliceEntries(path, entries, options.like),
    });
    return added;
  } finally {
    closeSync(opened);
    await rm(innerIndex, { force: true });
  }
}

/** An argument or a variable of a program must be UTF-8; a folder with another name is reached through its descriptor. */
function nameFolder(folder: string, path: Buffer, opened: number): string {
  const text = path.toString('utf8');
  return Buffer.from(text).equals(path) ? join(folder, text) : `/proc/${process.pid}/fd/${opened}`;
}

function pathIn(folder: string, path: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), path]);
}

export function gitFor(options: StageOptions, workTree: string, indexFile: string): Git {
  return createGit({
    cwd: workTree,
    gitDir: options.gitDir,
    workTree,
    indexFile,
    ...definedOnly({ timeoutMs: options.timeoutMs, signal: options.signal }),
  });
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
