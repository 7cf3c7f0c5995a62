/** Which processes still work in a folder: by current folder, open file, or a mount of it in a sandbox. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Reads `/proc`; processes of other users that we may not inspect are not seen. */
export function findLiveProcesses(folder: string): number[] {
  const ownMounts = readLink('/proc/self/ns/mnt');
  const isInside = (path: string | null): boolean =>
    path !== null && (path === folder || path.startsWith(`${folder}/`));
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      const at = join('/proc', pid);
      const cwd = readLink(join(at, 'cwd'));
      if (isInside(cwd)) return true;
      if (readLink(join(at, 'ns/mnt')) !== ownMounts && mounts(at, folder)) return true;
      // The kernel asks the same of who reads its files: a refusal for each of hundreds took most of the search.
      return cwd !== null && listLinks(join(at, 'fd')).some(isInside);
    })
    .map(Number);
}

/** A sandbox binds the folder: the fourth field of a mount is the bound folder in its file system. */
function mounts(proc: string, folder: string): boolean {
  const text = ifAllowed(() => readFileSync(join(proc, 'mountinfo'), 'utf8')) ?? '';
  return text.split('\n').some((line) => {
    const root = line.split(' ')[3] ?? '/';
    return (
      root.length > 1 &&
      (root === folder ||
        root.startsWith(`${folder}/`) ||
        (folder.endsWith(root) && root.includes('/worktrees/')))
    );
  });
}

function listLinks(folder: string): (string | null)[] {
  return (ifAllowed(() => readdirSync(folder)) ?? []).map((name) => readLink(join(folder, name)));
}

function readLink(path: string): string | null {
  return ifAllowed(() => readlinkSync(path));
}

/** A process may end, or belong to another user, between listing and reading: then there is nothing to see. */
function ifAllowed<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
