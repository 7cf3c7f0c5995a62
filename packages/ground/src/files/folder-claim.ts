/**
 * A folder that one process of a user at a time may work in, even with different state folders and another HOME.
 *
 * The claim is a lock named after the claimed folder, in the home that the password file has for this user: other accounts
 * can neither take it nor see it, and it ends with its process in every case.
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, realpathSync, utimesSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { unlessErrno } from '../platform/index.ts';
import { FOREIGN_LIMIT_MS, takeFileLock } from './file-lock.ts';
import { isPrivateFolder } from './folder-owner.ts';
import { makeFolder } from './make-folder.ts';

const MAX_HOLDER = 256;

export type FolderClaim =
  | { readonly kind: 'claimed'; release(): void }
  /** Null when the other process does not name itself. */
  | { readonly kind: 'taken'; readonly holder: string | null };

/**
 * Claims the folder for as long as this process lives or until it is released. `userState`, the folder of this user's
 * Caisson, has the claims of a user without a home of its own; such a user has to keep to one.
 */
export async function claimFolder(folder: string, holder: string, userState: string): Promise<FolderClaim> {
  const name = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex');
  const path = join(makeClaimsAtHome() ?? makeClaims(userState), name);
  const lock = await takeFileLock(path, holder.slice(0, MAX_HOLDER));
  if (lock.kind === 'taken') return { kind: 'taken', holder: lock.note };
  const timer = setInterval(() => touch(path), FOREIGN_LIMIT_MS / 3);
  timer.unref();
  return {
    kind: 'claimed',
    release() {
      clearInterval(timer);
      lock.release();
    },
  };
}

/** Null if the user has no home, or one that others can write or nobody can. */
function makeClaimsAtHome(): string | null {
  try {
    const home = realpathSync(userInfo().homedir); // of the password file, whatever HOME says
    if (!isPrivateFolder(home)) return null;
    const claims = makeClaims(join(home, '.local/state/caisson'));
    accessSync(claims, constants.W_OK);
    return isPrivateFolder(claims) ? claims : null;
  } catch {
    return null;
  }
}

function makeClaims(userState: string): string {
  const claims = join(userState, 'claims');
  makeFolder(claims);
  return claims;
}

function touch(path: string): void {
  const now = new Date();
  unlessErrno(() => utimesSync(path, now, now), undefined, 'ENOENT');
}
