import { lstatSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, isAbsolute, join, normalize, relative } from 'node:path';
import { unlessErrno } from '../platform/index.ts';
import { SandboxSpecError } from './errors.ts';

/** Links in the existing part of the path are followed, because a mount over a link affects the link's target. */
export function canonical(path: string): string {
  if (!isAbsolute(path)) throw new SandboxSpecError(`The path ${path} must be absolute.`);
  const clean = normalize(path).replace(/(.)\/+$/, '$1');
  for (let parent = clean; ; parent = dirname(parent)) {
    const real = findRealPath(parent);
    if (real !== null) return join(real, relative(parent, clean));
  }
}

/** The links that a path goes through: the place of each (without links) and its target. */
export function linksOn(path: string): [link: string, to: string][] {
  const clean = normalize(path);
  if (canonical(clean) === clean.replace(/(.)\/+$/, '$1')) return [];
  const names = clean.split('/').filter(Boolean);
  return names.flatMap((_, index): [string, string][] => {
    const part = `/${names.slice(0, index + 1).join('/')}`;
    const to = findStats(part)?.isSymbolicLink() === true ? findRealPath(part) : null;
    return to === null ? [] : [[join(canonical(dirname(part)), basename(part)), to]];
  });
}

/** The path without links, or `null` when it leads nowhere. */
export function findRealPath(path: string): string | null {
  // A thrown error costs more than the check that avoids it.
  if (findStats(path) === null) return null;
  return unlessErrno(() => realpathSync.native(path), null, 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP');
}

/** The entry at the path, links not followed, or `null`. */
export function findStats(path: string): Stats | null {
  return unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }) ?? null, null, 'EACCES', 'ENOTDIR');
}

/** Whether a relative path climbs out of the folder it starts in. */
export function leavesFolder(relativePath: string): boolean {
  return relativePath === '..' || relativePath.startsWith('../') || isAbsolute(relativePath);
}
