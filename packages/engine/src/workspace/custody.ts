/** Where checkpoints are kept: the user's repository, or one of ours for projects without git. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createGit, createOwnGitDir, isErrno, type Git, type ObjectFormat } from '@caisson/ground';

import type { PreparedWorkspace } from './contract.ts';
import { WorkspaceError } from './errors.ts';

const IDENTITY = ['user.name=Caisson', 'user.email=caisson@caisson.invalid'];

export function checkpointRef(runId: string, attempt: number): string {
  return `refs/caisson/${runId}/${attempt}`;
}

/** Beside, not below, the checkpoint: git cannot have a ref under a ref. */
export function headsPrefix(runId: string, attempt: number): string {
  return `refs/caisson/${runId}/heads/${attempt}/`;
}

export function baselineRef(runId: string, attempt: number): string {
  return `refs/caisson/${runId}/base/${attempt}`;
}

/** The repository of ours under the state folder; made on first use, safe to race. */
export async function ensureOwnCustody(stateDir: string, objectFormat: ObjectFormat): Promise<string> {
  const path = join(stateDir, 'git');
  try {
    await readFile(join(path, 'HEAD'));
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
    await createOwnGitDir({ path, objectFormat });
  }
  return path;
}

/** Makes a commit and moves nothing. `gitDir` is ours; its objects are the custody's. */
export async function commitTree(
  gitDir: string,
  options: { tree: string; parents: readonly string[]; message: string },
): Promise<string> {
  const parents = options.parents.flatMap((parent) => ['-p', parent]);
  return await createGit({ cwd: gitDir, gitDir }).text(['commit-tree', options.tree, ...parents], {
    stdin: options.message,
    config: IDENTITY,
  });
}

/** All refs or none, in one process. */
export async function updateRefs(custodyDir: string, refs: ReadonlyMap<string, string>): Promise<void> {
  if (refs.size === 0) return;
  const stdin = [...refs].map(([name, objectId]) => `update ${name} ${objectId}\n`).join('');
  await custodyGit(custodyDir).run(['update-ref', '--stdin'], { stdin });
}

export function custodyGit(custodyDir: string): Git {
  return createGit({ cwd: custodyDir, gitDir: custodyDir, foreign: true });
}

/** Creates the branch; one that stands elsewhere already is never moved. */
export async function createBranchRef(custodyDir: string, branch: string, commit: string): Promise<void> {
  const ref = `refs/heads/${branch}`;
  const git = custodyGit(custodyDir);
  const made = await git.run(['update-ref', '--stdin'], {
    stdin: `create ${ref} ${commit}\n`,
    okExitCodes: [0, 128],
  });
  if (made.exitCode === 0) return;
  const present = await git.run(['rev-parse', '--verify', '--quiet', ref], { okExitCodes: [0, 1, 128] });
  if (present.stdout.toString('utf8').trim() === commit) return;
  throw new WorkspaceError(`Branch ${branch} could not be created at ${commit}: ${made.stderr.trim()}`, {
    remedy: `The work is saved; choose another name with \`git branch NAME ${commit}\`.`,
  });
}

/** The checkpoint of an attempt as its repository has it. */
export async function findCheckpoint({
  custodyDir,
  runId,
  attempt,
}: Pick<PreparedWorkspace, 'custodyDir' | 'runId' | 'attempt'>): Promise<{
  ref: string;
  commit: string;
  tree: string;
} | null> {
  if (!existsSync(custodyDir)) return null;
  const ref = checkpointRef(runId, attempt);
  const found = await custodyGit(custodyDir).run(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], {
    okExitCodes: [0, 1, 128],
  });
  const commit = found.stdout.toString('utf8').trim();
  if (found.exitCode !== 0 || commit === '') return null;
  return { ref, commit, tree: await custodyGit(custodyDir).text(['rev-parse', `${commit}^{tree}`]) };
}
