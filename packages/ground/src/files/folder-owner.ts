/** Which users can write a file or a folder, by its owner, group and mode. */
import { readFileSync, type Stats } from 'node:fs';
import { statIfThere } from './stat-if-there.ts';

type Rights = Pick<Stats, 'mode' | 'gid'>;

/** The user that this process acts as. */
export function ownUid(): number {
  return process.geteuid?.() ?? -1;
}

/** Whether a user other than the owner and root can write it. A group that only this user is in counts as the owner. */
export function isWritableByOthers({ mode, gid }: Rights): boolean {
  if ((mode & 0o002) !== 0) return true;
  return (mode & 0o020) !== 0 && !isPrivateGroup(gid);
}

/** A real folder of this user that only this user can write. */
export function isPrivateFolder(folder: string): boolean {
  const stats = statIfThere(folder, 'itself');
  return stats?.isDirectory() === true && stats.uid === ownUid() && !isWritableByOthers(stats);
}

/** In a sticky folder users cannot rename or remove files of another user. */
export function isSticky({ mode }: Pick<Stats, 'mode'>): boolean {
  return (mode & 0o1000) !== 0;
}

const groups = new Map<number, boolean>();

/** Many systems give each user a private group and let it write; a group with another member is shared. */
function isPrivateGroup(gid: number): boolean {
  const known = groups.get(gid);
  if (known !== undefined) return known;
  const isPrivate = gid === 0 || (gid === process.getegid?.() && isAlone(gid));
  groups.set(gid, isPrivate);
  return isPrivate;
}

function isAlone(gid: number): boolean {
  const users = readTable('/etc/passwd').map(([name = '', , uid, group]) => ({ name, uid, group }));
  const own = users.find(({ uid }) => uid === `${ownUid()}`)?.name;
  if (users.some(({ name, group }) => group === `${gid}` && name !== own)) return false;
  const entry = readTable('/etc/group').find(([, , id]) => id === `${gid}`);
  // A group from a directory service is not listed here; a user's private group has the user's number.
  if (entry === undefined) return gid === ownUid();
  return (entry[3] ?? '').split(',').every((name) => name === '' || name === own);
}

function readTable(file: string): string[][] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.split(':'));
  } catch {
    return [];
  }
}
