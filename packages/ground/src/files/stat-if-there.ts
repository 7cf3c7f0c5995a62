import { lstatSync, statSync, type Stats } from 'node:fs';
import { isErrno } from '../platform/index.ts';

/** What is at the path: the link itself, or its target. Null when nothing is there, also below a file. */
export function statIfThere(path: string, of: 'itself' | 'target'): Stats | null {
  try {
    return of === 'itself' ? lstatSync(path) : statSync(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].some((code) => isErrno(error, code))) return null;
    throw error;
  }
}
