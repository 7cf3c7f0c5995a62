/** Where checkpoints are kept: the user's repository, or one of ours for projects without git. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import {
  createGit,
  createOwnGitDir,
  statIfThere,
  writeCommit,
  writeRefFiles,
  type Git,
  type ObjectFormat,
} from '@caisson/ground';

import type { PreparedWorkspace } from './contract.ts';
import { WorkspaceError } from './errors.ts';
import { findRepository, NAMESPACE, readIfThere, type UserFolders } from './locate-repository.ts';
import { listFolder } from './record.ts';
import { syncIfThere } from './sync-objects.ts';

/** Our copies of remote repositories are below it, in the state folder (remote-cache.ts). */
export const REMOTES = 'remotes';
const IDENTITY = 'Caisson <caisson@caisson.invalid>';

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

/** The user's commit under the baseline. */
export function baseCommitRef(runId: string, attempt: number): string {
  return `refs/caisson/${runId}/base-commit/${attempt}`;
}

/** Our repository under the state folder; made on first use, safe to race. */
export async function ensureOwnCustody(stateDir: string, objectFormat: ObjectFormat): Promise<string> {
  const path = join(stateDir, 'git');
  if (!(await readIfThere(join(path, 'HEAD')))) await createOwnGitDir({ path, objectFormat, durable: true });
  return path;
}

/** Makes a commit and moves nothing. `gitDir` is ours; its objects are the custody's. */
export async function commitTree(
  gitDir: string,
  options: { tree: string; parents: readonly string[]; message: string },
): Promise<string> {
  return await writeCommit(join(gitDir, 'objects'), { ...options, by: IDENTITY, at: new Date() });
}

/** Where the commit of a branch is kept until the branch has it. */
export function branchPinRef(runId: string, attempt: number): string {
  return `refs/caisson/${runId}/branch/${attempt}`;
}

/** Git syncs a ref before it gives it its name; versions before 2.36 do not know the setting, and sync nothing. */
const SYNCED_REFS = ['core.fsync=reference'];
/** To delete a ref git locks the list of all packed ones, which a `git gc` and every other run may have for a while. */
const PATIENT = ['core.packedRefsTimeout=10000', 'core.filesRefLockTimeout=2000'];

/** All refs or none; on disk when it resolves. Their objects must exist. */
export async function updateRefs(custodyDir: string, refs: ReadonlyMap<string, string>): Promise<void> {
  if (refs.size === 0) return;
  refuseLinkedNamespace(custodyDir, [...refs.keys()]);
  const orders = [...refs].map(([name, objectId]) => `update ${name} ${objectId}\n`);
  const isOurs = [...refs.keys()].every((name) => name.startsWith(`${NAMESPACE}/`));
  if (!isOurs || !(await writeRefFiles(custodyDir, refs)))
    await changeRefs(custodyDir, [...refs.keys()], orders);
  await syncRefs(custodyDir, [...refs.keys()]);
}

/** All of our refs of a run, or none. */
export async function deleteRefs(custodyDir: string, runId: string): Promise<void> {
  const listed = await custodyGit(custodyDir).text([
    'for-each-ref',
    '--format=%(refname)',
    `${NAMESPACE}/${runId}/`,
  ]);
  const refs = listed.split('\n').filter(Boolean);
  const orders = refs.map((name) => `delete ${name}\n`);
  if (refs.length > 0) await changeRefs(custodyDir, refs, orders);
}

export async function changeRefs(
  custodyDir: string,
  refs: readonly string[],
  orders: readonly string[],
): Promise<void> {
  const change = (): Promise<unknown> =>
    custodyGit(custodyDir).run(['update-ref', '--stdin'], {
      stdin: orders.join(''),
      config: [...SYNCED_REFS, ...PATIENT],
    });
  try {
    await change();
  } catch (error) {
    if (!(await removeLeftLocks(custodyDir, refs))) throw error;
    await change();
  }
}

/** A `.git` from another person may have links in it: they lead to files of the user, or to other refs. */
function refuseLinkedNamespace(custodyDir: string, refs: readonly string[]): void {
  for (const folder of new Set(refs.filter((ref) => ref.startsWith(`${NAMESPACE}/`)).map(dirname))) {
    const linked = findLinkedFolder(custodyDir, folder);
    if (linked === null || linked === 'refs') continue; // git-new-workdir shares all refs by a link
    throw new WorkspaceError(
      `${join(custodyDir, linked)} is a link, and our refs are not written through it.`,
      {
        remedy: 'Check where it leads, and remove it.',
      },
    );
  }
}

/** The first part of a path in a repository that is no real folder; null if there is none. */
export function findLinkedFolder(repository: string, path: string): string | null {
  const above = dirname(path);
  const earlier = above === '.' ? null : findLinkedFolder(repository, above);
  if (earlier !== null) return earlier;
  const stats = statIfThere(join(repository, path), 'itself');
  return stats === null || stats.isDirectory() ? null : path;
}

/** A ref of a run has one writer at a time, which has the lock for milliseconds. */
const LEFT_LOCK_MS = 1000;

/** A killed git leaves its lock. A lock on our own ref that stays the same for this long has no owner. */
async function removeLeftLocks(custodyDir: string, refs: readonly string[]): Promise<boolean> {
  const own = refs
    .filter((ref) => ref.startsWith('refs/caisson/'))
    .map((ref) => `${join(custodyDir, ref)}.lock`);
  const inodeOf = (path: string): number | undefined => statIfThere(path, 'itself')?.ino;
  const seen = own.map((path) => ({ path, inode: inodeOf(path) })).filter(({ inode }) => inode !== undefined);
  if (seen.length === 0) return false;
  await delay(LEFT_LOCK_MS);
  for (const { path, inode } of seen) if (inodeOf(path) === inode) await rm(path, { force: true });
  return true;
}

/** Moves one ref from its known value (null: nothing) to a commit, in place of another one. Null, or why git refused. */
export async function swapRef(
  custodyDir: string,
  { ref, from, to, insteadOf }: { ref: string; from: string | null; to: string; insteadOf?: string },
): Promise<string | null> {
  const expected = from ?? '0'.repeat(to.length);
  const removal = insteadOf === undefined ? '' : `delete ${insteadOf}\n`;
  const swapped = await custodyGit(custodyDir).run(['update-ref', '--stdin'], {
    stdin: `update ${ref} ${to} ${expected}\n${removal}`,
    config: removal === '' ? SYNCED_REFS : [...SYNCED_REFS, ...PATIENT],
    okExitCodes: [0, 128],
  });
  if (swapped.exitCode !== 0) return swapped.stderr.trim();
  await syncRefs(custodyDir, [ref]);
  return null;
}

/** The names of new refs and their folders; a ref store that has no such files syncs by itself. */
async function syncRefs(custodyDir: string, refs: readonly string[]): Promise<void> {
  const folders = new Set<string>();
  for (const ref of refs) for (let path = dirname(ref); path !== '.'; path = dirname(path)) folders.add(path);
  await Promise.all([...refs, ...folders].map((path) => syncIfThere(join(custodyDir, path))));
}

/** The repositories with our refs for a project: the user's, and those under the state folder. */
export async function listCustodies(
  { projectRoot, stateDir }: { projectRoot: string; stateDir: string },
  user: UserFolders,
): Promise<string[]> {
  const repository = await findRepository(projectRoot, user);
  const remotes = join(stateDir, REMOTES);
  const caches = (await listFolder(remotes)).map((name) => join(remotes, name));
  return [
    ...(repository === null ? [] : [repository.commonDir]),
    ...[join(stateDir, 'git'), ...caches].filter((own) => existsSync(join(own, 'HEAD'))),
  ];
}

export function custodyGit(custodyDir: string): Git {
  return createGit({ cwd: custodyDir, gitDir: custodyDir, foreign: true });
}

/** The checkpoint of an attempt, read from its repository; an earlier version made a commit of it. */
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
  const found = await custodyGit(custodyDir).run(['rev-parse', '--verify', '--quiet', `${ref}^{tree}`], {
    okExitCodes: [0, 1, 128],
  });
  const tree = found.stdout.toString('utf8').trim();
  return found.exitCode !== 0 || tree === '' ? null : { ref, commit: tree, tree };
}
