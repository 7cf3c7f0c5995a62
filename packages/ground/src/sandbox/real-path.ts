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

/** What was found out about paths while one plan is made: it names the same folders again and again. */
interface Memory {
  readonly stats: Map<string, Stats | null>;
  readonly real: Map<string, string | null>;
}

let memory: Memory | null = null;

/** Runs synchronous work that asks about each path once. It changes no file itself. */
export function rememberPaths<T>(work: () => T): T {
  memory = { stats: new Map(), real: new Map() };
  try {
    return work();
  } finally {
    memory = null;
  }
}

function remember<T>(known: Map<string, T> | undefined, path: string, find: () => T): T {
  const before = known?.get(path);
  if (before !== undefined) return before;
  const found = find();
  known?.set(path, found);
  return found;
}

/** The path without links, or `null` when it leads nowhere. */
export function findRealPath(path: string): string | null {
  // A thrown error costs more than the check that avoids it.
  if (findStats(path) === null) return null;
  return remember(memory?.real, path, () =>
    unlessErrno(() => realpathSync.native(path), null, 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'),
  );
}

/** The entry at the path, links not followed, or `null`. */
export function findStats(path: string): Stats | null {
  return remember(memory?.stats, path, () =>
    unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }) ?? null, null, 'EACCES', 'ENOTDIR'),
  );
}

/** Both paths are canonical, so that comparing text is enough. */
export function isInside(folder: string, path: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}

/** Whether a relative path climbs out of the folder it starts in. */
export function leavesFolder(relativePath: string): boolean {
  return relativePath === '..' || relativePath.startsWith('../') || isAbsolute(relativePath);
}
