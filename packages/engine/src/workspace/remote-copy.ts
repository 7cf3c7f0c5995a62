/** One copy of a remote: made once, and asked what it has. */
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { createOwnGitDir, ifErrno, objectFormatOf, RemoteError } from '@caisson/ground';

import { custodyGit } from './custody.ts';
import { readIfThere } from './locate-repository.ts';
import type { FetchOrder } from './remote-contract.ts';

/** Made aside and renamed: a cache that is there is complete, also when many make it at once. */
export async function ensureCache(
  { remote, runId, attempt }: FetchOrder,
  path: string,
  commit: string,
): Promise<void> {
  const objectFormat = objectFormatOf(commit);
  const isThere = (await readIfThere(join(path, 'HEAD'))) !== null;
  if (isThere) {
    const isOther =
      ((await readIfThere(join(path, 'config'))) ?? '').includes('sha256') !== (objectFormat === 'sha256');
    if (!isOther) return;
    throw new RemoteError(
      'unknown',
      `${remote.url} has changed the format of its objects since it was last used.`,
      {
        remedy: `Move ${path} away once no run needs it.`,
      },
    );
  }
  const aside = `${path}.${runId}.${attempt}`;
  await createOwnGitDir({ path: aside, objectFormat, durable: true });
  await rename(aside, path).catch(ifErrno(undefined, 'ENOTEMPTY', 'EEXIST'));
  await rm(aside, { recursive: true, force: true });
}

/** C1: what git itself checks after a fetch. Quick if one of our refs has the commit in its history. */
export async function isWhole(dir: string, commit: string): Promise<boolean> {
  const checked = await custodyGit(dir).run(
    ['rev-list', '--objects', '--quiet', `${commit}^{commit}`, '--not', '--all'],
    {
      okExitCodes: [0, 1, 128],
    },
  );
  return checked.exitCode === 0;
}

/** The commit that a ref of ours names, itself or through a tag. */
export async function findBaseCommit(
  { remote, base = 'HEAD' }: FetchOrder,
  dir: string,
  ref: string,
): Promise<string> {
  const found = await custodyGit(dir).run(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`], {
    okExitCodes: [0, 1, 128],
  });
  if (found.exitCode === 0) return found.stdout.toString('utf8').trim();
  throw new RemoteError(
    'unknown',
    `${JSON.stringify(base)} of ${remote.url} is a file or folder, not a commit.`,
    {
      remedy: 'Name a branch, a commit, or a tag of one with --base.',
    },
  );
}
