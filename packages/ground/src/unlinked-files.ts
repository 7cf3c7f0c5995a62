// A file that was removed while it is open takes space until it is closed, and no folder shows it.
import { readdirSync, statSync, type Stats } from 'node:fs';
import { descendants } from './process-tree.ts';

/** Bytes on the disk of `path` in nameless files that the process or a descendant of it holds open. */
export function measureUnlinked(pid: number, path: string): number {
  const disk = look(path)?.dev;
  const seen = new Set<number>();
  let bytes = 0;
  for (const holder of [pid, ...descendants(pid).map((info) => info.pid)]) {
    for (const fd of list(`/proc/${holder}/fd`)) {
      const stats = look(`/proc/${holder}/fd/${fd}`);
      if (stats === null || stats.dev !== disk || stats.nlink > 0 || !stats.isFile() || seen.has(stats.ino))
        continue;
      seen.add(stats.ino);
      bytes += stats.blocks * 512;
    }
  }
  return bytes;
}

function list(folder: string): string[] {
  return unlessGone(() => readdirSync(folder)) ?? [];
}

function look(path: string): Stats | null {
  return unlessGone(() => statSync(path));
}

/** The processes go on while we look, and some may not be looked at. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENOTDIR', 'EIO'].includes(code)) return null;
    throw error;
  }
}
