/**
 * The patch: what an attempt changed, as one file that restores every byte.
 *
 * P1  Taken with our git dir outside the workspace; nothing of the repository runs (see git.ts).
 * P2  `outputs/`, `.caisson` and what the caller excludes are never in it.
 * P3  Only `proveApplies` decides about success: the patch on a fresh index of the baseline must give the tree that was
 *     captured.
 * P4  What was prepared before the agent started is not in it (see preparation.ts).
 */
import { definedOnly } from '@caisson/protocol';
import {
  createGit,
  emptyTreeLike,
  listPatchFiles,
  type PatchFile,
  removeIndex,
  useIndex,
  rewriteTree,
  undoOf,
  type TreeChange,
} from '../git/index.ts';
import { type OversizedFile, type StageLimits, stageWorkspace, isWorkspaceBare } from '../staging/index.ts';
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
  const exclude = [...new Set([...NEVER_IN_PATCH, ...options.exclude])];
  const staged = await stageWorkspace({
    ...options,
    exclude,
    like: options.baselineTree,
    remembersHidden: true,
  });
  await rememberPreparation(options.gitDir, staged.tree);
}

/** All files were copied over a folder of the user, and nothing has run yet: `undoOverlay` removes them again. */
export async function markOverlay(options: CaptureOptions): Promise<void> {
  const exclude = [...new Set([...NEVER_IN_PATCH, ...options.exclude])];
  const staged = await stageWorkspace({
    ...options,
    exclude,
    like: options.baselineTree,
    remembersHidden: true,
  });
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
  const {
    nested,
    warnings,
    oversized,
    hidden = [],
    ...staged
  } = await stageWorkspace({
    ...options,
    exclude,
    like: options.baselineTree,
  });
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

/** P3. Three short processes; the workspace is not read. */
export async function proveApplies(options: {
  readonly gitDir: string;
  readonly baselineTree: string;
  readonly patch: Buffer;
  readonly tree: string;
  readonly timeoutMs?: number;
}): Promise<boolean> {
  if (options.patch.length === 0) return options.tree === options.baselineTree;
  const indexFile = useIndex(options.gitDir);
  const git = createGit({ cwd: options.gitDir, gitDir: options.gitDir, workTree: options.gitDir, indexFile });
  try {
    await git.run(['read-tree', options.baselineTree]);
    const applied = await git.run(['apply', '--cached', '--whitespace=nowarn', '-'], {
      stdin: options.patch,
      okExitCodes: [0, 1, 128],
      ...definedOnly({ timeoutMs: options.timeoutMs }),
    });
    return applied.exitCode === 0 && (await git.text(['write-tree'])) === options.tree;
  } finally {
    await removeIndex(indexFile);
  }
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
  return { patch: stdout, files: listPatchFiles(stdout) };
}
