/**
 * Our copies of remote repositories: `<state>/remotes/<hash of the address>`, git dirs of ours that nobody else writes to.
 *
 * C1  A commit in the cache is whole: it comes in one pack, or was there. It is used only if all it names is there.
 * C2  Runs share the objects and nothing else: each pins its base by its own ref, so that no two wait for a lock, and a
 *     `git gc` in the cache takes nothing that a run needs.
 * C3  Runs of one host that want the same at the same time ask the remote once.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import {
  fetchRef,
  GitError,
  listRemoteRefs,
  RemoteError,
  statIfThere,
  type RemoteRefs,
} from '@caisson/ground';

import type { PushProblem } from '@caisson/protocol';

import { orAborted } from '../platform/index.ts';
import { baseCommitRef, custodyGit, REMOTES, updateRefs } from './custody.ts';
import { listFolder } from './record.ts';
import type { FetchedBase, FetchOrder, RemoteOrder } from './remote-contract.ts';
import { ensureCache, findBaseCommit, isWhole } from './remote-copy.ts';
import { noteUse, withCacheLock } from './remote-use.ts';

const MAX_TRIES = 4;

export function placeCache(stateDir: string, url: string): string {
  const name = createHash('sha256').update(url).digest('hex').slice(0, 32);
  return join(stateDir, REMOTES, name);
}

/** Fetches that are under way, by what they ask for (C3). */
export type Fetching = Map<string, Promise<Fetched>>;

/** A base, and what its remote listed for the run that asked. */
interface Fetched {
  readonly base: FetchedBase;
  readonly refs: RemoteRefs;
}

export async function fetchBase(order: FetchOrder, fetching: Fetching): Promise<FetchedBase> {
  const key = [order.stateDir, order.remote.url, order.base ?? '', order.access.token ?? ''].join('\0');
  for (let tries = 1; ; tries += 1) {
    const running = fetching.get(key);
    try {
      const { base, refs } = await (running === undefined
        ? startFetch(order, key, fetching)
        : joinFetch(running, order));
      if (running !== undefined) await pin(base, order);
      await demandFreeBranch(order, running === undefined ? refs : null);
      return base;
    } catch (error) {
      // Its owner gave up, or a gc was faster than the pin: the next try is our own.
      const isOurs = (running === undefined || isAnswer(error)) && !(error instanceof GitError);
      if (!isOurs && tries < MAX_TRIES && order.signal?.aborted !== true) continue;
      await unpinBase(order.stateDir, order.remote.url, order).catch(() => undefined); // what failed first counts
      throw error;
    }
  }
}

function startFetch(order: FetchOrder, key: string, fetching: Fetching): Promise<Fetched> {
  const started = fetchNow(order).finally(() => fetching.delete(key));
  fetching.set(key, started);
  return started;
}

/** Who joined waits for the work of another run, and may leave it at any time. */
const joinFetch = (running: Promise<Fetched>, { signal }: FetchOrder): Promise<Fetched> =>
  signal === undefined ? running : orAborted(signal, running);

const ANSWERS: readonly PushProblem[] = ['taken', 'timeout', 'credentials', 'host-key', 'not-found'];

/** What the remote says, or does not say in time, is the same for all that asked together. */
const isAnswer = (error: unknown): boolean => error instanceof RemoteError && ANSWERS.includes(error.problem);

/** A push that would be refused is refused now, before an agent has worked for it. Who joined a fetch lists for itself. */
async function demandFreeBranch(order: FetchOrder, refs: RemoteRefs | null): Promise<void> {
  const { remote, pushTo } = order;
  if (pushTo === undefined) return;
  const names = namesToPush(order);
  const { ids } = refs ?? (await listRemoteRefs(remoteGitOptions(order), names));
  const found = names.map((name) => ids.get(name)).find((id) => id !== undefined);
  if (found === undefined || pushTo.earlier.includes(found)) return;
  const which = pushTo.earlier.length === 0 ? 'already' : 'with other work since it was pushed';
  throw new RemoteError('taken', `${remote.url} has a branch ${pushTo.branch} ${which}.`, {
    remedy: 'Name another one: --branch OTHER.',
  });
}

const namesToPush = ({ pushTo }: FetchOrder): string[] =>
  pushTo === undefined ? [] : [`refs/heads/${pushTo.branch}`];

async function fetchNow(order: FetchOrder): Promise<Fetched> {
  const { stateDir, remote, base } = order;
  await mkdir(join(stateDir, REMOTES), { recursive: true, mode: 0o700 });
  const names = [...namesFor(base), ...namesToPush(order)];
  const refs = await listRemoteRefs(remoteGitOptions(order), names);
  const { ref, commit } = chooseBase(order, refs);
  const dir = placeCache(stateDir, remote.url);
  await withCacheLock(dir, async () => {
    await ensureCache(order, dir, commit);
    await noteUse(dir, remote.url);
  });
  const found = { dir, url: remote.url, ref };
  const known = { ...found, commit };
  if (await isWhole(dir, commit)) {
    await pin(known, order);
    return { base: known, refs };
  }
  const pinned = baseCommitRef(order.runId, order.attempt);
  await fetchInto(order, { dir, source: ref, ref: pinned });
  // The branch may have moved since it was listed, and a tag is an object of its own.
  const fetched = { ...found, commit: await findBaseCommit(order, dir, pinned) };
  await pin(fetched, order);
  return { base: fetched, refs };
}

async function fetchInto(
  order: FetchOrder,
  { dir, source, ref }: { readonly dir: string; readonly source: string; readonly ref: string },
): Promise<void> {
  const { remote, maxBytes } = order;
  try {
    await fetchRef(remoteGitOptions(order), { gitDir: dir, source, ref, maxBytes });
  } catch (error) {
    if (!(await removeDrafts(dir, order))) throw error;
    throw new RemoteError('unknown', `${remote.url} sends more than ${maxBytes} bytes at once.`, {
      remedy: 'Raise git.maxFetch in your own configuration, if the repository is that large.',
    });
  }
}

/** What git leaves of a pack when it is killed, by us or by the limit on its size; whether it was that. */
async function removeDrafts(dir: string, { maxBytes, timeoutMs }: FetchOrder): Promise<boolean> {
  const folder = join(dir, 'objects/pack');
  let isTooLarge = false;
  for (const name of (await listFolder(folder)).filter((entry) => entry.startsWith('tmp_'))) {
    const found = statIfThere(join(folder, name), 'itself');
    const isFull = found !== null && found.size >= maxBytes;
    isTooLarge ||= isFull;
    // A younger one may belong to another run's fetch.
    if (isFull || (found !== null && Date.now() - found.mtimeMs > timeoutMs))
      await rm(join(folder, name), { force: true });
  }
  return isTooLarge;
}

const pin = ({ dir, commit }: FetchedBase, { runId, attempt }: FetchOrder): Promise<void> =>
  updateRefs(dir, new Map([[baseCommitRef(runId, attempt), commit]]));

export async function unpinBase(
  stateDir: string,
  url: string,
  { runId, attempt }: { readonly runId: string; readonly attempt: number },
): Promise<void> {
  const dir = placeCache(stateDir, url);
  if (!existsSync(dir)) return;
  await custodyGit(dir).run(['update-ref', '-d', baseCommitRef(runId, attempt)]);
}

const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

function namesFor(base: string | undefined): string[] {
  if (base === undefined || OBJECT_ID.test(base)) return ['HEAD'];
  if (base.startsWith('refs/')) return [base, `${base}^{}`];
  return [`refs/heads/${base}`, `refs/tags/${base}`, `refs/tags/${base}^{}`];
}

/** The commit of a tag is listed under its name with `^{}`. */
function chooseBase(
  { remote, base }: FetchOrder,
  { ids, headRef }: RemoteRefs,
): { ref: string; commit: string } {
  if (base !== undefined && OBJECT_ID.test(base)) return { ref: base, commit: base };
  const names = base === undefined ? ['HEAD'] : namesFor(base).filter((name) => !name.endsWith('^{}'));
  const name = names.find((candidate) => ids.has(candidate));
  const commit = name === undefined ? undefined : (ids.get(`${name}^{}`) ?? ids.get(name));
  if (name !== undefined && commit !== undefined)
    return { ref: name === 'HEAD' ? (headRef ?? name) : name, commit };
  if (base === undefined)
    throw new RemoteError('unknown', `${remote.url} has no commit to start from.`, {
      remedy: 'Push a first commit to it, or name a branch with --base.',
    });
  throw new RemoteError('unknown', `${remote.url} has no branch, tag or commit ${JSON.stringify(base)}.`, {
    remedy: 'Name one that it has (git ls-remote), or leave out --base.',
  });
}

/** Where git runs for a remote: a folder of ours that is no repository. */
export function remoteGitOptions(order: RemoteOrder): RemoteOrder & { cwd: string } {
  return { ...order, cwd: join(order.stateDir, REMOTES) };
}
