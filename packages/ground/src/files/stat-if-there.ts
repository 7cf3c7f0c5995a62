import { lstatSync, statSync, type Stats } from 'node:fs';
import { unlessErrno } from '../platform/index.ts';

/** What is at the path: the link itself, or its target. Null when nothing is there, also below a file. */
export function statIfThere(path: string, of: 'itself' | 'target'): Stats | null {
  return unlessErrno(() => (of === 'itself' ? lstatSync(path) : statSync(path)), null, 'ENOENT', 'ENOTDIR');
}
