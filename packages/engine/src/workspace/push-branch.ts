/** A branch on its way from the cache to the remote. */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { listRemoteRefs, pushCommit, RemoteError } from '@caisson/ground';
import { definedOnly, type PushProblem } from '@caisson/protocol';

import { look } from './branch-ref.ts';
import { branchPinRef, changeRefs, custodyGit } from './custody.ts';
import { WorkspaceError } from './errors.ts';
import { placeCache, remoteGitOptions } from './remote-cache.ts';
import type { PushOrder, RemoteWorkspaces } from './remote-contract.ts';

export async function pushBranch(order: PushOrder): Promise<void> {
  const { branch, commit, expected, runId, attempt } = order;
  const gitDir = placeCache(order.stateDir, order.remote.url);
  if (!existsSync(gitDir))
    throw new RemoteError('unknown', `the copy of ${order.remote.url} is gone: ${gitDir}`);
  if (expected !== null && !(await isAncestor(gitDir, expected, commit)))
    throw new RemoteError(
      'taken',
      `the branch ${branch} does not continue what was pushed before (${expected})`,
    );
  await pushOver(order, gitDir, expected);
  const pin = branchPinRef(runId, attempt);
  await freeName(gitDir, branch, commit, [`update ${pin} ${commit}\n`]);
}

/**
 * A push whose answer was lost may have arrived, that of an earlier run of the same task, too: then the remote refuses what is
 * its own work. Where it has the commit already, alone or below later work of this task, there is nothing to do.
 */
async function pushOver(order: PushOrder, gitDir: string, expected: string | null): Promise<void> {
  const { commit, branch, earlier } = order;
  try {
    await whileBusy(order, () => pushCommit(remoteGitOptions(order), { gitDir, commit, branch, expected }));
  } catch (error) {
    const present = await findPresent(order, error);
    if (present === null) throw error;
    if (await isAncestor(gitDir, commit, present)) return;
    const isOurs = earlier.includes(present) && (await isAncestor(gitDir, present, commit));
    if (!isOurs || present === expected) throw error;
    await pushOver({ ...order, earlier: earlier.filter((each) => each !== present) }, gitDir, present);
  }
}

/** How long a remote is asked that has just failed. */
const ASK_MS = 20_000;
const ASKED_AFTER: readonly PushProblem[] = ['taken', 'rejected', 'timeout', 'unreachable', 'unknown'];

/** What the remote has as the branch after a push that failed; null if it has none, or cannot be asked. */
async function findPresent(order: PushOrder, error: unknown): Promise<string | null> {
  if (!(error instanceof RemoteError) || !ASKED_AFTER.includes(error.problem)) return null;
  if (order.signal?.aborted === true) return null;
  const ref = `refs/heads/${order.branch}`;
  const options = { ...remoteGitOptions(order), timeoutMs: Math.min(order.timeoutMs, ASK_MS) };
  const listed = await listRemoteRefs(options, [ref]).catch(() => null);
  return listed?.ids.get(ref) ?? null;
}

const MAX_TRIES = 6;
const FIRST_PAUSE_MS = 50;

/** A remote that is cleaned up, or pushed to by others, at this very moment takes it a moment later. */
async function whileBusy({ signal }: PushOrder, push: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await push();
    } catch (error) {
      const isBusy = error instanceof RemoteError && error.problem === 'rejected' && error.retryable;
      if (!isBusy || tries === MAX_TRIES || signal?.aborted === true) throw error;
      await delay(FIRST_PAUSE_MS * 2 ** tries, undefined, definedOnly({ signal }));
    }
  }
}

export const dropBranch: RemoteWorkspaces['dropBranch'] = async ({ custodyDir, branch, commit }) => {
  if (!existsSync(custodyDir)) return;
  const standing = await look(custodyDir, branch);
  if (standing.kind === 'taken' && standing.name === branch && standing.checkedOutIn !== null)
    throw new WorkspaceError(`The branch ${branch} is checked out in ${standing.checkedOutIn}.`, {
      remedy: 'Switch to another branch there first.',
    });
  await freeName(custodyDir, branch, commit, []);
};

/** A branch that was moved or deleted meanwhile is left alone. */
async function freeName(
  gitDir: string,
  branch: string,
  commit: string,
  also: readonly string[],
): Promise<void> {
  const ref = `refs/heads/${branch}`;
  const found = await custodyGit(gitDir).run(['rev-parse', '--verify', '--quiet', ref], {
    okExitCodes: [0, 1, 128],
  });
  const isThere = found.stdout.toString('utf8').trim() === commit;
  const orders = [...also, ...(isThere ? [`delete ${ref} ${commit}\n`] : [])];
  if (orders.length > 0) await changeRefs(gitDir, [], orders);
}

async function isAncestor(gitDir: string, left: string, right: string): Promise<boolean> {
  const checked = await custodyGit(gitDir).run(['merge-base', '--is-ancestor', left, right], {
    okExitCodes: [0, 1, 128],
  });
  return checked.exitCode === 0;
}
