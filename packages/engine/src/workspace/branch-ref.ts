/**
 * The requested branch of a run. It belongs to the run: it is written once, when the run ends, and only from its known
 * value.
 *
 * B1  A branch that another process or person made or moved is never moved, also when that happened a moment ago.
 * B2  A branch that is checked out somewhere is never moved: its files would look changed.
 * B3  Writing it again after a crash is the same as having written it once.
 * B4  A run that changed nothing makes no branch; one that an earlier run of the same task left is moved all the same.
 */
import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { readRefFiles } from '@caisson/ground';

import { custodyGit, swapRef } from './custody.ts';
import type { Workspaces } from './contract.ts';
import { WorkspaceError } from './errors.ts';
import {
  findRepository,
  listRefs,
  NAMESPACE,
  type Repository,
  type UserFolders,
} from './locate-repository.ts';
import { placeCache } from './remote-cache.ts';

export interface PlannedBranch {
  readonly name: string;
  readonly commit: string;
  /** It would bring files that need a person's yes, and is kept in the bundle of what was held back. */
  readonly isHeld: boolean;
  /** The run changed nothing: the commit is where it began. */
  readonly isEmpty?: boolean | undefined;
}

/** What exists at a branch name, or at a name that git cannot have beside it. */
export type BranchStanding =
  | { readonly kind: 'free' }
  | {
      readonly kind: 'taken';
      readonly name: string;
      /** Null for a branch without a commit yet. */
      readonly commit: string | null;
      readonly checkedOutIn: string | null;
    }
  /** Free, but `name` means `other` now, and would mean the branch, or both. */
  | { readonly kind: 'ambiguous'; readonly other: string };

export type BranchOutcome =
  | { readonly kind: 'created'; readonly commit: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'taken'; readonly by: BranchStanding };

/** What exists at or blocks a branch name; null without a repository. */
export async function findBranch(
  { projectRoot, name, remote }: Parameters<Workspaces['findBranch']>[0],
  user: UserFolders,
): Promise<BranchStanding | null> {
  if (remote !== undefined) {
    const cache = placeCache(remote.stateDir, remote.url);
    return existsSync(cache) ? await look(cache, name) : { kind: 'free' };
  }
  const repository = await findRepository(projectRoot, user);
  if (repository === null) return null;
  const standing = await look(repository.commonDir, name);
  // A branch without a commit yet is in no list; creating it would give the user's files a history.
  if (standing.kind === 'free' && repository.headRef === `refs/heads/${name}`)
    return { kind: 'taken', name, commit: null, checkedOutIn: repository.top };
  const other = standing.kind === 'free' ? await findOther(repository, name) : null;
  return other === null ? standing : { kind: 'ambiguous', other };
}

/** What else git finds by this name: who writes `origin/main` would get the branch of that name. */
async function findOther(repository: Repository, name: string): Promise<string | null> {
  const remotes = [...repository.config.keys()].flatMap((key) => REMOTE_URL.exec(key)?.[1] ?? []);
  const remote = remotes.find((each) => name === each || name.startsWith(`${each}/`));
  if (remote !== undefined) return `the remote ${remote}`;
  const exact = [`refs/${name}`, `refs/tags/${name}`];
  const ofRemote = `refs/remotes/${name}`;
  const isMeant = (ref: string): boolean =>
    exact.includes(ref) || ref === ofRemote || ref.startsWith(`${ofRemote}/`);
  return (await listRefs(repository)).find((ref) => isMeant(ref.name))?.name ?? null;
}

const REMOTE_URL = /^remote\.(.+)\.url$/;

/** Whether a branch or tag, also of a remote, has the commit in its history. */
export async function isInHistory(repository: string, commit: string): Promise<boolean> {
  const given = ['--count=1', `--contains=${commit}`, 'refs/heads/', 'refs/tags/', 'refs/remotes/'];
  const found = await custodyGit(repository).run(['for-each-ref', ...given], {
    okExitCodes: [0, 1, 128, 129],
  });
  return found.exitCode === 0 && found.stdout.length > 0;
}

/**
 * `from`: where an earlier run of the same task left the branch; it may be moved only from there. The branch that has
 * the commit keeps it from now on, in place of the `pin`.
 */
export async function writeBranch(
  custodyDir: string,
  branch: PlannedBranch,
  { from, pin }: { from: string | null; pin: string },
): Promise<BranchOutcome> {
  const isNone = branch.isEmpty === true && from === null; // B4
  if (isNone) {
    await dropPin(custodyDir, pin);
    return { kind: 'empty' };
  }
  return await moveBranch(custodyDir, branch, { from, pin });
}

/** One that stays keeps the same commit as its branch; it goes with the run. */
async function dropPin(custodyDir: string, pin: string): Promise<void> {
  await custodyGit(custodyDir).run(['update-ref', '-d', pin], { okExitCodes: [0, 1, 128] });
}

async function moveBranch(
  custodyDir: string,
  { name, commit }: PlannedBranch,
  { from, pin }: { from: string | null; pin: string },
): Promise<BranchOutcome> {
  const standing = await look(custodyDir, name);
  const present = standing.kind === 'taken' && standing.name === name ? standing.commit : null;
  if (present !== null && (present === commit || (await isSameWork(custodyDir, present, commit)))) {
    await dropPin(custodyDir, pin);
    return { kind: 'created', commit: present }; // B3
  }
  if (standing.kind === 'taken' && (present === null || present !== from || standing.checkedOutIn !== null))
    return { kind: 'taken', by: standing }; // B1, B2
  const move = { ref: `refs/heads/${name}`, from: present, to: commit };
  if ((await swapRef(custodyDir, { ...move, insteadOf: pin })) === null) return { kind: 'created', commit };
  const problem = await swapRef(custodyDir, move); // without what only tidies up
  if (problem === null) return { kind: 'created', commit };
  const now = await look(custodyDir, name);
  if (!isDeepStrictEqual(now, standing)) return { kind: 'taken', by: now };
  throw new WorkspaceError(`Branch ${name} could not be written: ${problem}`);
}

/** Git cannot have a branch `a` and a branch `a/b`. */
export async function look(custodyDir: string, name: string): Promise<BranchStanding> {
  const refs = await readRefFiles(custodyDir, NAMESPACE);
  const isFree = refs?.some((ref) => isInTheWay(ref.name, name)) === false;
  return isFree ? { kind: 'free' } : await lookWithGit(custodyDir, name);
}

/** Also where a branch is checked out. */
async function lookWithGit(custodyDir: string, name: string): Promise<BranchStanding> {
  const listed = await custodyGit(custodyDir).text([
    'for-each-ref',
    '--format=%(refname)%00%(objectname)%00%(worktreepath)',
    `refs/heads/${name.split('/')[0] ?? name}`,
  ]);
  for (const line of listed.split('\n').filter(Boolean)) {
    const [ref = '', commit = '', worktree = ''] = line.split('\0');
    if (!isInTheWay(ref, name)) continue;
    return {
      kind: 'taken',
      name: ref.slice(HEADS.length),
      commit,
      checkedOutIn: worktree === '' ? null : worktree,
    };
  }
  return { kind: 'free' };
}

const HEADS = 'refs/heads/';

function isInTheWay(ref: string, name: string): boolean {
  const wanted = `${HEADS}${name}`;
  return (
    ref === wanted || ref.startsWith(`${wanted}/`) || (ref.startsWith(HEADS) && wanted.startsWith(`${ref}/`))
  );
}

/** A host that died after it wrote the branch left a commit that differs from ours only in its time. */
async function isSameWork(custodyDir: string, left: string, right: string): Promise<boolean> {
  const describe = async (commit: string): Promise<string> => {
    const text = await custodyGit(custodyDir).text(['cat-file', 'commit', commit]);
    const tree = /^tree (.*)$/m.exec(text)?.[1] ?? '';
    return `${tree}${text.slice(text.indexOf('\n\n'))}`;
  };
  const ours = await describe(right);
  return /\n\n(?:[^\n]+\n\n)?caisson: run_/.test(ours) && ours === (await describe(left));
}
