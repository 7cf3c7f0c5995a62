/**
 * Merges the result of an earlier run into the present files, in three ways. Both sides began with the run's baseline
 * or, once a person took the result into their files, with the result itself: what they changed after that counts. A commit
 * that is asked for (`baseRef`) is not their files, and may be older.
 *
 * M1  The present files are only read: the merge is made in an index of ours.
 * M2  A file that both sides changed is merged line by line. What cannot be merged is a conflict, and nothing is merged.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import {
  createGit,
  GitError,
  listTreeChanges,
  removeIndex,
  showPath,
  useIndex,
  type Git,
} from '@caisson/ground';

import { mapAtOnce } from './at-once.ts';
import type { FinishedWork, MergeProblem, PrepareOptions } from './contract.ts';
import { signalOf } from './stage-present.ts';

export type Merged =
  | {
      readonly kind: 'merged';
      readonly tree: string;
      /** What the merge changed in the present files; bytes in Latin-1. */
      readonly brought: ReadonlySet<string>;
      /** Files that differ from what the run left. */
      readonly changedSince: readonly string[];
    }
  | MergeProblem;

const MAX_NAMED = 50;
const MAX_NAME_CHARACTERS = 300;
/** Git answers with the number of conflicts, up to 127; 255 for a file that has no lines. */
const MERGE_ANSWERS = [...Array.from({ length: 128 }, (_none, count) => count), 255];

/** The index of `gitDir` has the tree `present`, and the merged one afterwards. */
export async function mergeWork(
  gitDir: string,
  present: string,
  work: FinishedWork,
  options: Pick<PrepareOptions, 'signal' | 'baseRef'>,
): Promise<Merged> {
  const git = createGit({ cwd: gitDir, gitDir, workTree: gitDir, timeoutMs: 600_000, ...signalOf(options) });
  const result = await findResultTree(gitDir, work, options);
  if (result === null) return { kind: 'gone' };
  const from = work.isApplied && options.baseRef === undefined ? result : work.baselineTree;
  await git.run(['read-tree', '-m', '-i', '--aggressive', from, present, result]);
  const conflicts = await mergeContents(git, gitDir);
  if (conflicts.length > 0) return { kind: 'conflicts', files: conflicts.map(toName) };
  const tree = await git.text(['write-tree']);
  const [brought, since] = [
    await listTreeChanges(git, present, tree),
    await listTreeChanges(git, result, tree),
  ];
  return {
    kind: 'merged',
    tree,
    brought: new Set(brought.map(({ path }) => path)),
    changedSince: since.slice(0, MAX_NAMED).map(({ path }) => toName(path).slice(0, MAX_NAME_CHARACTERS)),
  };
}

/** Null when the baseline, the patch's files or the checkpoint are gone. */
async function findResultTree(
  gitDir: string,
  { baselineTree, result }: FinishedWork,
  options: Pick<PrepareOptions, 'signal'>,
): Promise<string | null> {
  const indexFile = useIndex(gitDir);
  const git = createGit({ cwd: gitDir, gitDir, workTree: gitDir, indexFile, ...signalOf(options) });
  try {
    await git.run(['read-tree', 'tree' in result ? result.tree : baselineTree]);
    if ('patch' in result && result.patch.length > 0)
      await git.run(['apply', '--cached', '--whitespace=nowarn', '-'], { stdin: result.patch });
    await git.run(['cat-file', '-e', `${baselineTree}^{tree}`]);
    return await git.text(['write-tree']);
  } catch (error) {
    if (!(error instanceof GitError) || options.signal?.aborted === true) throw error;
    return null;
  } finally {
    await removeIndex(indexFile);
  }
}

interface Stage {
  readonly mode: string;
  readonly id: string;
}
/** Before, present, result. */
type Stages = [Stage | undefined, Stage | undefined, Stage | undefined];

/** M2; returns the paths that conflict, as bytes in Latin-1. */
async function mergeContents(git: Git, gitDir: string): Promise<string[]> {
  const unmerged = await listUnmerged(git);
  if (unmerged.size === 0) return [];
  const folder = await mkdtemp(join(gitDir, 'merge-'));
  try {
    const merged = await mapAtOnce([...unmerged], async ([path, stages], at) => ({
      path,
      entry: await mergeFile(git, stages, join(folder, String(at))),
    }));
    const lines = merged.map(({ path, entry }) =>
      entry === null ? '' : `0 ${'0'.repeat(entry.id.length)}\t${path}\0${entry.mode} ${entry.id}\t${path}\0`,
    );
    await git.run(['update-index', '-z', '--index-info'], { stdin: Buffer.from(lines.join(''), 'latin1') });
    return merged.filter(({ entry }) => entry === null).map(({ path }) => path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function listUnmerged(git: Git): Promise<Map<string, Stages>> {
  const { stdout } = await git.run(['ls-files', '-u', '-z']);
  const found = new Map<string, Stages>();
  for (const line of stdout.toString('latin1').split('\0').filter(Boolean)) {
    const [mode = '', id = '', stage = ''] = line.slice(0, line.indexOf('\t')).split(' ');
    const path = line.slice(line.indexOf('\t') + 1);
    const stages = found.get(path) ?? [undefined, undefined, undefined];
    stages[Number(stage) - 1] = { mode, id };
    found.set(path, stages);
  }
  return found;
}

/** Null for a conflict: one side removed it, it is no regular file, or the same lines were changed. */
async function mergeFile(git: Git, [before, present, result]: Stages, place: string): Promise<Stage | null> {
  if (before === undefined || present === undefined || result === undefined) return null;
  if (![before, present, result].every(({ mode }) => mode.startsWith('100'))) return null;
  const names = [`${place}.present`, `${place}.before`, `${place}.result`];
  for (const [at, { id }] of [present, before, result].entries())
    await writeFile(names[at] ?? '', (await git.run(['cat-file', 'blob', id])).stdout);
  const merged = await git.run(['merge-file', '-p', ...names], { okExitCodes: MERGE_ANSWERS });
  if (merged.exitCode !== 0) return null;
  const id = await git.text(['hash-object', '-w', '--stdin'], { stdin: merged.stdout });
  return { mode: present.mode === before.mode ? result.mode : present.mode, id };
}

const toName = (path: string): string => showPath(Buffer.from(path, 'latin1'));
