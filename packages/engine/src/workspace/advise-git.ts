/**
 * Git commands for a person who wants what a run saved. The objects are in the user's repository, where git finds them by
 * itself, or in a git dir of ours, which has to be named.
 */
import { shellQuote } from '@caisson/protocol';

import type { PreparedWorkspace } from './contract.ts';

type Place = Pick<PreparedWorkspace, 'custodyDir' | 'isUserRepository'>;

/** Makes a branch of a saved commit: in the user's repository, or on the remote that the run worked on. */
export function adviseBranch(
  { custodyDir, remote }: Pick<PreparedWorkspace, 'custodyDir' | 'remote'>,
  name: string,
  commit: string,
): string {
  if (remote === undefined) return `git branch ${shellQuote(name)} ${commit}`;
  return advisePush(custodyDir, remote.url, `${commit}:refs/heads/${name}`);
}

/** Pushes from our copy of a remote. */
export function advisePush(custodyDir: string, url: string, refspec: string): string {
  return `git --git-dir=${shellQuote(custodyDir)} push ${shellQuote(url)} ${shellQuote(refspec)}`;
}

/** Takes something out of a bundle, into the repository that has what the bundle builds on. */
export function adviseFetch({ custodyDir, isUserRepository }: Place, file: string, ref: string): string {
  const git = isUserRepository ? 'git' : `git --git-dir=${shellQuote(custodyDir)}`;
  return `${git} fetch ${shellQuote(file)} ${shellQuote(ref)}`;
}

/** Brings saved commits into the repository that the person is in. */
export function adviseMerge({ custodyDir, isUserRepository }: Place, ref: string): string {
  const verb = ref.endsWith('/stash') ? 'stash apply' : 'merge';
  if (isUserRepository) return `git ${verb} ${shellQuote(ref)}`;
  return `git fetch ${shellQuote(custodyDir)} ${shellQuote(ref)} && git ${verb} FETCH_HEAD`;
}
