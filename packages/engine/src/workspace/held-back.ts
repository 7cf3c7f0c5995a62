/**
 * What a checkout, a fetch or a push must not reach, and where it is kept.
 *
 * H1  A ref of a repository contains nothing that the table of risky paths holds back; those paths keep their old
 *     content.
 * H2  All of the work is kept (W2): if something was held back, the complete checkpoint, the agent's commits and the
 *     branch as it would have been are in one bundle in the state folder. No repository reads it by itself; a person
 *     gets it with `git fetch FILE REF`.
 * H3  The bundle is on disk before any ref is written. It builds on the baseline and on the user's commit; refs of ours
 *     keep both (checkpoint.ts), also if the user drops the commit.
 */
import { dirname, join } from 'node:path';

import {
  createGit,
  judgeChanges,
  judgeTrees,
  listCommitChanges,
  listTreeChanges,
  makeFolder,
  publishFile,
  readPreparation,
  rewriteTree,
  undoOf,
  type RiskyChange,
  type TreeChange,
} from '@caisson/ground';

import type { WorkBeside } from '@caisson/protocol';

import { adviseFetch, adviseMerge, advisePush } from './advise-git.ts';
import type { PreparedWorkspace } from './contract.ts';
import { nameSome } from './name-some.ts';

const MAX_COMMITS = 20_000;
const MAX_BESIDE = 100;

/** The changes of a tree that no ref may have. */
export async function findHeldBack(prepared: PreparedWorkspace, tree: string): Promise<RiskyChange[]> {
  const { gitDir, baselineTree, path, mountPath, controls } = prepared;
  if (tree === baselineTree) return [];
  const known = await readPreparation(prepared);
  const place = { gitDir, mountPath, own: controls, workspace: path, known };
  const { risks } = await judgeTrees({ ...place, from: baselineTree, to: tree });
  return risks.filter((risk) => isHeld(prepared, risk));
}

function isHeld({ allowRisky }: PreparedWorkspace, { grade }: RiskyChange): boolean {
  return grade === 'never' || allowRisky !== true;
}

/** H1 */
export async function withoutHeldBack(
  { gitDir }: PreparedWorkspace,
  tree: string,
  held: readonly RiskyChange[],
): Promise<string> {
  return await rewriteTree(
    gitDir,
    tree,
    held.flatMap(({ change }) => undoOf(change)),
  );
}

export interface SortedHeads {
  readonly visible: ReadonlyMap<string, string>;
  readonly held: ReadonlyMap<string, string>;
  /** The reason, in words. */
  readonly paths: readonly string[];
}

/** The agent's own commits: one that ever had a risky file holds back its whole branch. */
export async function sortHeads(
  prepared: PreparedWorkspace,
  heads: ReadonlyMap<string, string>,
): Promise<SortedHeads> {
  const visible = new Map<string, string>();
  const held = new Map<string, string>();
  const paths = new Set<string>();
  const known = heads.size === 0 ? new Map<string, string>() : await readKnown(prepared);
  const judged = new Map<string, readonly string[]>();
  for (const [ref, commit] of heads) {
    const risks = judged.get(commit) ?? (await judgeHistory(prepared, commit, known));
    judged.set(commit, risks);
    (risks.length === 0 ? visible : held).set(ref, commit);
    for (const path of risks) paths.add(path);
  }
  return { visible, held, paths: [...paths] };
}

async function judgeHistory(
  prepared: PreparedWorkspace,
  commit: string,
  known: ReadonlyMap<string, string>,
): Promise<string[]> {
  const { gitDir, mountPath, controls } = prepared;
  const git = createGit({ cwd: gitDir, gitDir });
  const bases = basesOf(prepared).map((base) => `^${base}`);
  const listed = await git.text(['rev-list', `--max-count=${MAX_COMMITS + 1}`, commit, ...bases, '--']);
  const commits = listed.split('\n').filter(Boolean);
  if (commits.length > MAX_COMMITS) return [`more than ${MAX_COMMITS} commits`];
  if (commits.length === 0) return [];
  const changes = await listCommitChanges(git, commits);
  const risks = await judgeChanges({
    gitDir,
    changes,
    mountPath,
    workspace: prepared.path,
    own: controls,
    commit,
    known,
  });
  return risks.filter((risk) => isHeld(prepared, risk)).map(({ path }) => path);
}

/** The user's own uncommitted files, and files from preparation: an agent that commits them has not changed them. */
async function readKnown(prepared: PreparedWorkspace): Promise<Map<string, string>> {
  const { gitDir, baseCommit, baselineTree } = prepared;
  const git = createGit({ cwd: gitDir, gitDir });
  const uncommitted: TreeChange[] =
    baseCommit === null ? [] : await listTreeChanges(git, `${baseCommit}^{tree}`, baselineTree);
  return new Map([
    ...uncommitted.map(({ path, newId }) => [path, newId] as const),
    ...(await readPreparation(prepared)),
  ]);
}

function basesOf({ baseCommit, baselineCommit }: PreparedWorkspace): string[] {
  return [...new Set([baseCommit, baselineCommit].filter((id) => id !== null))];
}

/** The bundle of an attempt. */
function bundleFile(prepared: PreparedWorkspace): string {
  return `${heldBackPlace(prepared)}.bundle`;
}

/** The folder of an attempt for files that no checkpoint has. */
export function heldBackPlace({ attemptDir, runId, attempt }: PreparedWorkspace): string {
  return join(dirname(dirname(attemptDir)), 'held-back', `${runId}.${attempt}`);
}

/** H2, H3 */
export async function writeBundle(
  prepared: PreparedWorkspace,
  refs: ReadonlyMap<string, string>,
): Promise<string> {
  const { gitDir } = prepared;
  const file = bundleFile(prepared);
  makeFolder(dirname(file));
  // The refs are in the attempt's own git dir, which is never checked out and is removed with the workspace.
  const git = createGit({ cwd: gitDir, gitDir, timeoutMs: 600_000 });
  const stdin = [...refs].map(([name, commit]) => `update ${name} ${commit}\n`).join('');
  await git.run(['update-ref', '--stdin'], { stdin });
  const known = [...basesOf(prepared), prepared.baselineTree]; // the repository has them
  const revisions = [...refs.keys(), ...known.map((id) => `^${id}`)];
  const draft = `${file}.tmp`;
  await git.run(['bundle', 'create', '--quiet', draft, '--stdin'], {
    stdin: revisions.map((revision) => `${revision}\n`).join(''),
  });
  await publishFile(draft, file);
  return file;
}

/** What was held back and how a person gets it, one sentence each. */
export function describeHeldBack(
  prepared: PreparedWorkspace,
  file: string,
  found: {
    readonly risks: readonly RiskyChange[];
    readonly headPaths: readonly string[];
    readonly ref: string;
  },
): string[] {
  const names = [...new Set([...found.risks.map(({ path }) => path), ...found.headPaths])];
  const get = adviseFetch(prepared, file, found.ref);
  return [`held back from git: ${nameSome(names)}; the complete work: ${get}`];
}

/** Commits that are not in the patch, and how a person gets them. */
export function describeBeside(
  prepared: PreparedWorkspace,
  refs: ReadonlySet<string>,
  held: ReadonlyMap<string, string>,
  file: string | null,
): WorkBeside[] {
  return [...refs].slice(0, MAX_BESIDE).map((ref) => {
    const get = held.has(ref) ? adviseFetch(prepared, file ?? '', ref) : adviseMerge(prepared, ref);
    return { what: `commits in ${ref}`, get };
  });
}

/** The requested branch is not made: it would bring files that need a person's yes. */
export function describeHeldBranch(
  prepared: PreparedWorkspace,
  branch: string,
  file: string,
  risks: readonly RiskyChange[],
): string {
  const reasons = risks.map(({ path, why }) => `${path} ${why}`).join('; ');
  const ref = `refs/heads/${branch}`;
  const { custodyDir, remote } = prepared;
  const get = adviseFetch(prepared, file, `${ref}:${ref}`);
  const line =
    remote === undefined ? get : `${get} && ${advisePush(custodyDir, remote.url, `${ref}:${ref}`)}`;
  return `branch ${branch} was not created: ${reasons}. Look at it (caisson diff), then: ${line} (--allow-risky creates it at once)`;
}
