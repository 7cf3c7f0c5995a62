/** Adds the files of a folder to an index, and those of the repositories inside it (rules S1, S3 and S6). */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { definedOnly } from '@caisson/protocol';
import { createGit, emptyTreeLike, readIndexSummary, spliceEntries, type Git } from '../git/index.ts';
import { isErrno } from '../platform/index.ts';
import { addFiles } from './add-files.ts';
import { findOversized, type OversizedFile, type StageLimits } from './oversized-files.ts';
import { hasFiles, isBehindLink } from './workspace-folder.ts';

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
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface Added {
  readonly nested: readonly string[];
  readonly warnings: readonly string[];
  readonly oversized: readonly OversizedFile[];
  /** Size of everything that had to be read. */
  readonly stagedBytes: number;
  /** The tree, when the index remembers it. */
  readonly rootTree: string | null;
}

/** Adds a folder with all that is nested in it, to the index of this git. */
export async function addEverything(
  options: StageOptions,
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
    const inner = await flatten(withBytesLeft(options, stagedBytes), git, folder, path, index, prefix + path);
    rootTree = null;
    nested.push(prefix + path, ...inner.nested);
    warnings.push(...inner.warnings);
    oversized.push(...inner.oversized);
    stagedBytes += inner.stagedBytes;
  }
  return { nested, warnings, oversized, stagedBytes, rootTree };
}

function withBytesLeft(options: StageOptions, stagedBytes: number): StageOptions {
  const { limits } = options;
  if (limits === undefined) return options;
  return { ...options, limits: { ...limits, maxTotalBytes: limits.maxTotalBytes - stagedBytes } };
}

/** S1: stages the nested folder through its own index and splices the entries in where the link was. */
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
