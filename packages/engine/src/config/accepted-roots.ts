/** Project folders of another owner, or that others can write, which this user has agreed to use anyway. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  isPrivateFolder,
  makeFolder,
  ownUid,
  readSmallFileSync,
  writeFileAtomicSync,
  removeFileSync,
} from '@caisson/ground';
import * as z from 'zod/mini';

const AcceptedRoot = z.object({ schemaVersion: z.literal(1), path: z.string(), owner: z.int() });

/** For `caisson trust`: trusts the folder's present owner, and the users that this owner lets write, from now on. */
export function acceptRoot(root: string, owner: number, userState: string): void {
  makeFolder(acceptedFolder(userState));
  const accepted = { schemaVersion: 1 as const, path: root, owner };
  writeFileAtomicSync(fileOf(root, userState), JSON.stringify(accepted));
}

/** Revokes an acceptance; false where there was none. */
export function forgetRoot(root: string, userState: string): boolean {
  const file = fileOf(root, userState);
  const wasThere = existsSync(file);
  removeFileSync(file);
  return wasThere;
}

/** Ends with the next change of owner. */
export function isAcceptedRoot(root: string, owner: number, userState: string): boolean {
  if (!isPrivateFolder(acceptedFolder(userState))) return false;
  const file = readSmallFileSync(fileOf(root, userState), 65_536);
  if (file === null || file.uid !== ownUid() || (file.mode & 0o022) !== 0) return false;
  try {
    const accepted = AcceptedRoot.safeParse(JSON.parse(file.text)).data;
    return accepted?.path === root && accepted.owner === owner;
  } catch {
    return false;
  }
}

function acceptedFolder(userState: string): string {
  return join(userState, 'roots');
}

function fileOf(root: string, userState: string): string {
  return join(acceptedFolder(userState), `${createHash('sha256').update(root).digest('hex')}.json`);
}
