/** A lock file decides what is installed only where every entry carries a digest and none names a place to fetch from. */
import { listLockedPackages, type LockEntries } from './lock-file.ts';

/** What is wrong with the lock file, one sentence each. */
export function findLockProblems(entries: LockEntries): string[] {
  return listLockedPackages(entries).flatMap(({ path, integrity, resolved }) => [
    ...(isStrongDigest(integrity) ? [] : [`${path} has no sha512 integrity`]),
    ...(resolved === undefined
      ? []
      : [`${path} names where it comes from (resolved); no registry belongs here`]),
  ]);
}

function isStrongDigest(integrity: string | undefined): boolean {
  return /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '');
}
