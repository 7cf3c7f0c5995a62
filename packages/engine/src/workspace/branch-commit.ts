/**
 * The commit a branch gets. A checkpoint contains the files of checked-out submodules and the bytes that the user's git
 * converts; a branch that people merge must contain what their history has, so links and untouched blobs are restored.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { createGit, listRenamedChanges, listTreeChanges } from '@caisson/ground';

import { messageOf } from './commit-message.ts';
import type { PreparedWorkspace } from './contract.ts';
import { convertBack, readConversions } from './conversions.ts';
import { commitTree } from './custody.ts';
import type { Link } from './submodule-links.ts';

export interface BranchCommit {
  readonly commit: string;
  /** Submodules whose files changed: that part is in the patch and the checkpoint, not on the branch. */
  readonly changedSubmodules: readonly string[];
  /** Changed files whose filter only the user's git could run: the branch has their raw bytes. */
  readonly unconverted: readonly string[];
}

export async function makeBranchCommit(
  prepared: PreparedWorkspace,
  checkpoint: { commit: string; tree: string },
): Promise<BranchCommit> {
  const { gitDir, baseCommit, baselineTree } = prepared;
  const links = baseCommit === null ? [] : await findFlattened(prepared, checkpoint.tree);
  const conversions = await readConversions(gitDir);
  if (baseCommit === null || (links.length === 0 && conversions.length === 0))
    return { commit: checkpoint.commit, changedSubmodules: [], unconverted: [] };

  const message = messageOf(prepared);
  const git = createGit({ cwd: gitDir, gitDir });
  const headTree = await git.text(['rev-parse', '--verify', `${baseCommit}^{tree}`]);
  let commit = baseCommit;
  let tree = headTree;
  let unconverted: readonly string[] = [];
  for (const flat of [baselineTree, checkpoint.tree]) {
    const blobs = await convertBack(gitDir, flat, conversions);
    unconverted = blobs.unconverted;
    const next = await putBack(gitDir, flat, links, blobs.entries);
    if (next !== tree) commit = await commitTree(gitDir, { tree: next, parents: [commit], message });
    tree = next;
  }
  return {
    commit,
    changedSubmodules: await findChanged(gitDir, prepared, checkpoint.tree, links),
    unconverted,
  };
}

/** Links of the base commit that are folders in the tree. */
async function findFlattened(prepared: PreparedWorkspace, tree: string): Promise<Link[]> {
  const { gitDir } = prepared;
  const links = await findChangedLinks(prepared, tree);
  if (links.length === 0) return [];
  const present = await idsOf(gitDir, tree, links);
  return links.filter((link) => present.get(link.path)?.kind === 'tree');
}

/** Where the run began with the files of the base commit, the patch has read what changed already. */
async function findChangedLinks(
  { gitDir, baseCommit, baselineCommit, baselineTree }: PreparedWorkspace,
  tree: string,
): Promise<Link[]> {
  const isBase = baselineCommit === baseCommit;
  const changes = isBase
    ? await listRenamedChanges(gitDir, baselineTree, tree)
    : await listTreeChanges(createGit({ cwd: gitDir, gitDir }), `${baseCommit}^{tree}`, tree);
  return changes
    .filter(({ oldMode }) => oldMode === LINK_MODE)
    .map(({ path, previousPath, oldId }) => ({
      path: Buffer.from(previousPath ?? path, 'latin1').toString('utf8'),
      commit: oldId,
    }));
}

const LINK_MODE = '160000';

async function findChanged(
  gitDir: string,
  prepared: PreparedWorkspace,
  tree: string,
  links: readonly Link[],
): Promise<string[]> {
  const [before, after] = await Promise.all([
    idsOf(gitDir, prepared.baselineTree, links),
    idsOf(gitDir, tree, links),
  ]);
  return links.map((link) => link.path).filter((path) => before.get(path)?.id !== after.get(path)?.id);
}

async function idsOf(
  gitDir: string,
  tree: string,
  links: readonly Link[],
): Promise<Map<string, { kind: string; id: string }>> {
  const git = createGit({ cwd: gitDir, gitDir });
  const listed = await git.text(['ls-tree', '-z', tree, '--', ...links.map((link) => link.path)]);
  const found = listed.split('\0').flatMap((entry) => {
    const match = /^\d+ (\w+) ([0-9a-f]+)\t(.+)$/s.exec(entry);
    return match === null ? [] : [[match[3] ?? '', { kind: match[1] ?? '', id: match[2] ?? '' }] as const];
  });
  return new Map(found);
}

async function putBack(
  gitDir: string,
  tree: string,
  links: readonly Link[],
  blobs: readonly Buffer[],
): Promise<string> {
  const indexFile = join(gitDir, `branch.${process.pid}`);
  const git = createGit({ cwd: gitDir, gitDir, workTree: gitDir, indexFile });
  try {
    await git.run(['read-tree', tree]);
    const entries = links.map((link) => Buffer.from(`160000 ${link.commit}\t${link.path}\0`));
    await git.run(['update-index', '--replace', '-z', '--index-info'], {
      stdin: Buffer.concat([...entries, ...blobs]),
    });
    return await git.text(['write-tree']);
  } finally {
    await rm(indexFile, { force: true });
  }
}
