/**
 * The patch: what an attempt changed, as one file that restores every byte.
 *
 * P1  Taken with our git dir outside the workspace; nothing of the repository runs (see git.ts).
 * P2  `outputs/`, `.caisson` and what the caller excludes are never in it.
 * P3  Only `proveApplies` decides about success: the patch on a fresh index of the baseline must give the tree that was
 *     captured.
 * P4  What was prepared before the agent started is not in it (see preparation.ts).
 */
import { link } from 'node:fs/promises';
import { join } from 'node:path';
import { definedOnly } from '@caisson/protocol';
import {
  copyIndex,
  createGit,
  emptyTreeLike,
  findIndexTree,
  type Git,
  listPatchFiles,
  type PatchFile,
  removeIndex,
  useIndex,
  rewriteTree,
  takePatch,
  undoOf,
  type TreeChange,
} from '../git/index.ts';
import { ifErrno } from '../platform/index.ts';
import {
  type OversizedFile,
  type StagedWorkspace,
  type StageLimits,
  stageWorkspace,
  isWorkspaceBare,
} from '../staging/index.ts';
import { rememberOverlay, rememberPreparation, withoutPreparation } from './preparation.ts';

export interface CaptureOptions {
  readonly workspace: string;
  readonly gitDir: string;
  readonly baselineTree: string;
  readonly exclude: readonly string[];
  /** Larger files are left out; see {@link CapturedPatch.oversized}. */
  readonly limits?: StageLimits | undefined;
  /** Files that rules hide from the agent; they are not read. */
  readonly hides?: ((path: string) => boolean) | null;
  readonly timeoutMs?: number;
  readonly maxPatchBytes?: number;
  readonly signal?: AbortSignal;
}

export interface CapturedPatch {
  readonly patch: Buffer;
  readonly tree: string;
  readonly files: readonly PatchFile[];
  readonly empty: boolean;
  /** Repositories the agent made inside the workspace; their files are in the patch, their history is not. */
  readonly nested: readonly string[];
  /** Files that could not be read, in git's words. */
  readonly warnings: readonly string[];
  /** Files that were left out because of their size. */
  readonly oversized: readonly OversizedFile[];
  /** Files that were left out because a rule hides them, and that were not there before the agent. */
  readonly hidden: readonly string[];
}

/** Never part of a patch, whatever the workspace's `.gitignore` contains. */
export const NEVER_IN_PATCH: readonly string[] = ['outputs', '.caisson'];

const DEFAULT_MAX_PATCH_BYTES = 1024 * 1024 * 1024;

/** The workspace is ready for its agent: files that are new since the baseline are no work of the agent. */
export async function markPrepared(options: CaptureOptions): Promise<void> {
  const staged = await stage({ ...options, remembersHidden: true });
  await rememberPreparation(options.gitDir, staged.tree);
}

/** All files were copied over a folder of the user, and nothing has run yet: `undoOverlay` removes them again. */
export async function markOverlay(options: CaptureOptions): Promise<void> {
  const staged = await stage({ ...options, remembersHidden: true });
  await rememberOverlay(options.gitDir, staged.tree);
}

/** Captures what differs from the baseline. Nothing may write to the workspace meanwhile. */
export async function capturePatch(options: CaptureOptions): Promise<CapturedPatch> {
  const exclude = [...new Set([...NEVER_IN_PATCH, ...options.exclude])];
  const nothing = { patch: Buffer.alloc(0), tree: options.baselineTree, files: [], empty: true };
  const isBaselineEmpty = options.baselineTree === emptyTreeLike(options.baselineTree);
  if (isBaselineEmpty && (await isWorkspaceBare(options.workspace, exclude))) {
    return { ...nothing, nested: [], warnings: [], oversized: [], hidden: [] };
  }
  const { nested, warnings, oversized, hidden = [], ...staged } = await stage(options);
  const tree = await withoutPreparation(options, staged.tree);
  if (tree === options.baselineTree) return { ...nothing, nested, warnings, oversized, hidden };
  const diff = await diffTrees(options, tree);
  return { ...diff, tree, empty: false, nested, warnings, oversized, hidden };
}

/** The same patch without some of its changes: their paths are as before. */
export async function withoutChanges(
  options: CaptureOptions,
  captured: CapturedPatch,
  changes: readonly TreeChange[],
): Promise<CapturedPatch> {
  if (changes.length === 0) return captured;
  const tree = await rewriteTree(options.gitDir, captured.tree, changes.flatMap(undoOf));
  if (tree === options.baselineTree)
    return { ...captured, patch: Buffer.alloc(0), tree, files: [], empty: true };
  return { ...captured, ...(await diffTrees(options, tree)), tree };
}

/** Before the first stage the index is that of the baseline: a copy of it saves the proof from reading the baseline. */
const BASELINE_INDEX = 'baseline-index';

async function stage(
  options: CaptureOptions & { readonly remembersHidden?: true },
): Promise<StagedWorkspace> {
  const { gitDir, baselineTree } = options;
  await link(join(gitDir, 'index'), join(gitDir, BASELINE_INDEX)).catch(
    ifErrno(undefined, 'EEXIST', 'ENOENT'),
  );
  const exclude = [...new Set([...NEVER_IN_PATCH, ...options.exclude])];
  return await stageWorkspace({ ...options, exclude, like: baselineTree });
}

/**
 * P3. One short process if the index of the baseline is there; the workspace is not read. Without a `tree`: whether it
 * applies at all.
 */
export async function proveApplies(options: {
  readonly gitDir: string;
  readonly baselineTree: string;
  readonly patch: Buffer;
  readonly tree?: string;
  readonly timeoutMs?: number;
}): Promise<boolean> {
  const { tree } = options;
  if (options.patch.length === 0) return tree === undefined || tree === options.baselineTree;
  const indexFile = useIndex(options.gitDir);
  const git = createGit({ cwd: options.gitDir, gitDir: options.gitDir, workTree: options.gitDir, indexFile });
  try {
    await readBaseline(git, options, indexFile);
    const applied = await git.run(['apply', '--cached', '--whitespace=nowarn', '-'], {
      stdin: options.patch,
      okExitCodes: [0, 1, 128],
      ...definedOnly({ timeoutMs: options.timeoutMs }),
    });
    if (applied.exitCode !== 0) return false;
    if (tree === undefined) return true;
    return ((await findIndexTree(indexFile, tree)) ?? (await git.text(['write-tree']))) === tree;
  } finally {
    await removeIndex(indexFile);
  }
}

async function readBaseline(
  git: Git,
  { gitDir, baselineTree }: { readonly gitDir: string; readonly baselineTree: string },
  indexFile: string,
): Promise<void> {
  const isCopied = await copyIndex(join(gitDir, BASELINE_INDEX), indexFile);
  if (isCopied && (await findIndexTree(indexFile, baselineTree)) === baselineTree) return;
  await git.run(['read-tree', baselineTree]);
}

async function diffTrees(
  options: CaptureOptions,
  tree: string,
): Promise<{ patch: Buffer; files: PatchFile[] }> {
  const git = createGit({ cwd: options.workspace, gitDir: options.gitDir, workTree: options.workspace });
  const { stdout } = await git.run(
    [
      'diff-tree',
      '-r',
      '-M',
      '-z',
      '--raw',
      '--no-abbrev',
      '-p',
      '--binary',
      '--full-index',
      '--no-ext-diff',
      '--no-textconv',
      '--no-color',
      '--submodule=short',
      '--src-prefix=a/',
      '--dst-prefix=b/',
      '--unified=3',
      '--diff-algorithm=default',
      options.baselineTree,
      tree,
    ],
    {
      maxOutputBytes: options.maxPatchBytes ?? DEFAULT_MAX_PATCH_BYTES,
      ...definedOnly({ timeoutMs: options.timeoutMs }),
    },
  );
  const patch = await takePatch(options.gitDir, options.baselineTree, tree, stdout);
  return { patch, files: listPatchFiles(patch) };
}
