/**
 * Copies of remotes that nobody needs go; the others lose what no ref names.
 *
 * K1  A copy with a ref stays, however old it is: the ref is a run's checkpoint or base, or a branch that is on no remote.
 * K2  A fetch notes its use under the lock of the copy before it looks for anything in it. A copy is dropped under that lock,
 *     by another name: a fetch finds it with a note that keeps it, or does not find it and makes a new one.
 * K3  Nothing that was used since the oldest open run began is dropped or pruned.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';

import { createGit, measureTree, removeTree, statIfThere } from '@caisson/ground';

import { custodyGit, REMOTES } from './custody.ts';
import { listFolder } from './record.ts';
import type { DroppedRemote, PruneRemotesOptions } from './remote-contract.ts';
import { readUse, withCacheLock } from './remote-use.ts';

const CACHE = /^[0-9a-f]{32}$/;
/** What a fetch or a clean-up that was killed left beside the copies. */
const LEFT = /^[0-9a-f]{32}\.(?!lock$)/;
const LEFT_AGE_MS = 60 * 60_000;
const TIMEOUT_MS = 600_000;
/** Every fetch makes a pack. */
const MAX_PACKS = 20;

export async function pruneRemotes(options: PruneRemotesOptions, nowMs: number): Promise<DroppedRemote[]> {
  const folder = join(options.stateDir, REMOTES);
  const dropped: DroppedRemote[] = [];
  for (const name of await listFolder(folder)) {
    const path = join(folder, name);
    if (LEFT.test(name)) await removeLeft(path, nowMs);
    if (!CACHE.test(name) || !existsSync(join(path, 'HEAD'))) continue;
    const gone = await dropUnused(path, options, nowMs);
    if (gone !== null) dropped.push(gone);
    else await prune(path, nowMs - Math.max(options.graceMs, options.openRunMs()));
  }
  return dropped;
}

async function removeLeft(path: string, nowMs: number): Promise<void> {
  const found = statIfThere(path, 'itself');
  if (found !== null && nowMs - found.mtimeMs > LEFT_AGE_MS) await removeTree(path);
}

async function dropUnused(
  path: string,
  { olderThanMs, openRunMs }: PruneRemotesOptions,
  nowMs: number,
): Promise<DroppedRemote | null> {
  const aside = `${path}.dropped-${randomBytes(6).toString('hex')}`;
  const use = await withCacheLock(path, async () => {
    const found = await readUse(path);
    const isYoung = nowMs - found.usedMs < Math.max(olderThanMs, openRunMs()); // K3
    if (isYoung || (await hasRefs(path))) return null; // K1
    await rename(path, aside); // K2
    return found;
  });
  if (use === null) return null;
  const bytes = await measureTree(aside);
  await removeTree(aside);
  return { path, url: use.url, bytes };
}

async function hasRefs(gitDir: string): Promise<boolean> {
  return (await custodyGit(gitDir).text(['for-each-ref', '--count=1'])) !== '';
}

/** Runs beside it write their objects again if they go before a ref names them (beside-gc.ts). */
async function prune(gitDir: string, beforeMs: number): Promise<void> {
  if (!Number.isFinite(beforeMs)) return;
  const expire = new Date(beforeMs).toISOString();
  const git = createGit({ cwd: gitDir, gitDir, timeoutMs: TIMEOUT_MS });
  await git.run(['prune', `--expire=${expire}`]);
  await git.run(['gc', '--auto', '--quiet', `--prune=${expire}`], {
    config: ['gc.auto=6700', 'gc.autoDetach=false', `gc.autoPackLimit=${MAX_PACKS}`],
  });
}
