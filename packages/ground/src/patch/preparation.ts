/**
 * What was put into a workspace before the agent started (capabilities, inputs, what setup scripts made) is not the
 * agent's work. It is stored as a tree beside the index; a patch leaves it out.
 *
 * A1  A path that preparation made and the baseline does not have is never in a patch, even if it changes later.
 * A2  A path that only preparation changed stays as it was in the baseline.
 * A3  A path of the baseline that preparation changed and the agent changed again is in the patch as it is now.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { writeFileAtomic, removeListedFile } from '../files/index.ts';
import { isErrno } from '../platform/index.ts';
import { createGit, type Git, removeIndex, useIndex, listTreeChanges, rewriteTree } from '../git/index.ts';

const PREPARED = 'prepared-tree';
const LAID = 'laid-tree';
const START = 'start-tree';

/** Remembers that the workspace began with another tree than its baseline: with work that is in the patch, too. */
export async function rememberStart(gitDir: string, tree: string): Promise<void> {
  await writeFileAtomic(join(gitDir, START), tree, { durable: false });
}

/** Remembers the workspace at the end of its preparation. */
export async function rememberPreparation(gitDir: string, tree: string): Promise<void> {
  await writeFileAtomic(join(gitDir, PREPARED), tree, { durable: false });
}

/** Remembers the workspace when capabilities and inputs were in place, and nothing had run yet. */
export async function rememberOverlay(gitDir: string, tree: string): Promise<void> {
  await writeFileAtomic(join(gitDir, LAID), tree, { durable: false });
}

export interface PreparationOptions {
  readonly gitDir: string;
  readonly baselineTree: string;
}

/** The tree without what is only preparation; the same tree when there was none. */
export async function withoutPreparation(options: PreparationOptions, tree: string): Promise<string> {
  const prepared = await recall(options.gitDir, PREPARED);
  const start = (await recall(options.gitDir, START)) ?? options.baselineTree;
  if (prepared === null || prepared === start) return tree;
  const git = createGit({ cwd: options.gitDir, gitDir: options.gitDir });
  const [byPreparation, byAgent] = await Promise.all([
    listChanges(git, start, prepared),
    listChanges(git, prepared, tree),
  ]);
  const touched = new Set(byAgent.map((change) => change.path));
  const undone = byPreparation.filter((change) => change.isNew || !touched.has(change.path));
  return await rewriteTree(options.gitDir, tree, undone);
}

/** What preparation made: path, as bytes in Latin-1, to the id of its content. */
export async function readPreparation(options: PreparationOptions): Promise<ReadonlyMap<string, string>> {
  const prepared = await recall(options.gitDir, PREPARED);
  const start = (await recall(options.gitDir, START)) ?? options.baselineTree;
  if (prepared === null || prepared === start) return new Map();
  const git = createGit({ cwd: options.gitDir, gitDir: options.gitDir });
  const changes = await listTreeChanges(git, start, prepared);
  return new Map(changes.map(({ path, newId }) => [path, newId]));
}

/**
 * Removes from a folder of the user what was copied over it: new files are deleted, changed files are restored. What
 * was changed after that, by the agent or others, stays as it is. `tree` is the folder now.
 */
export async function undoOverlay(
  options: PreparationOptions & { readonly workspace: string },
  tree: string,
): Promise<void> {
  const { gitDir, workspace } = options;
  const laid = await recall(gitDir, LAID);
  if (laid === null || laid === options.baselineTree) return;
  const indexFile = useIndex(gitDir);
  const git = createGit({ cwd: workspace, gitDir, workTree: workspace, indexFile });
  try {
    const [byUs, later] = await Promise.all([
      listChanges(git, options.baselineTree, laid),
      listChanges(git, laid, tree),
    ]);
    const touched = new Set(later.map((change) => change.path));
    const untouched = byUs.filter((change) => !touched.has(change.path));
    for (const { path } of untouched.filter((change) => change.isNew))
      await removeListedFile(workspace, path);
    const back = untouched.filter((change) => !change.isNew).map(({ path }) => `${path}\0`);
    if (back.length === 0) return;
    await git.run(['read-tree', options.baselineTree]);
    await git.run(['checkout-index', '-f', '-z', '--stdin'], { stdin: Buffer.from(back.join(''), 'latin1') });
  } finally {
    await removeIndex(indexFile);
  }
}

async function recall(gitDir: string, name: string): Promise<string | null> {
  try {
    return (await readFile(join(gitDir, name), 'utf8')).trim();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

interface Change {
  /** As bytes in Latin-1, so that reading changes no name. */
  readonly path: string;
  /** What the older tree has there; mode 0 and no id if it has nothing. */
  readonly mode: string;
  readonly id: string;
  readonly isNew: boolean;
}

async function listChanges(git: Git, from: string, to: string): Promise<Change[]> {
  return (await listTreeChanges(git, from, to)).map(({ path, oldMode, oldId }) => {
    const isNew = /^0+$/.test(oldMode);
    return { path, mode: isNew ? '0' : oldMode, id: oldId, isNew };
  });
}
