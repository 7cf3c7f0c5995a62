import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { unlessErrno } from '../platform/index.ts';

const MAX_LINKS = 40;

/**
 * Every place that an absolute path leads through, as the kernel follows it: the path at each link, without the links
 * before it, and at the end the path without links. Who may change any of them chooses where the path ends.
 */
export function placesOnWay(path: string): string[] {
  const places: string[] = [];
  let at = '/';
  let rest = path.split('/');
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '' || name === '.') continue;
    const next = name === '..' ? dirname(at) : join(at, name);
    const target = name === '..' ? null : readLink(next);
    if (target === null) {
      at = next;
      continue;
    }
    // What follows `..` is not below this place.
    places.push(rest.includes('..') ? next : join(next, ...rest));
    if (places.length > MAX_LINKS) break;
    if (isAbsolute(target)) at = '/';
    rest = [...target.split('/'), ...rest];
  }
  return [...places, at];
}

/** The text of a link, or `null` for anything else. */
function readLink(path: string): string | null {
  const stats = unlessErrno(
    () => lstatSync(path, { throwIfNoEntry: false }),
    undefined,
    ...(['EACCES', 'ENOTDIR'] as const),
  );
  return stats?.isSymbolicLink() === true ? readlinkSync(path) : null;
}
