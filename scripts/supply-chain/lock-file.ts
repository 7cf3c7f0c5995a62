/** package-lock.json as the supply chain checks, the licence page and the SBOM read it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface LockEntry {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Place in the tree (`node_modules/a/node_modules/b`) → what is installed there. */
export type LockEntries = Readonly<Record<string, LockEntry>>;

export interface LockedPackage extends LockEntry {
  readonly path: string;
  readonly name: string;
  readonly version: string;
}

export function readLockFile(root: string): LockEntries {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: LockEntries };
  return lock.packages;
}

/** Everything that comes from a registry, in the order of the lock file. */
export function listLockedPackages(entries: LockEntries): LockedPackage[] {
  return Object.entries(entries).flatMap(([path, entry]) =>
    path.includes('node_modules/') && entry.link !== true
      ? [{ ...entry, path, name: entry.name ?? nameOf(path), version: entry.version ?? '' }]
      : [],
  );
}

/** What a package uses when it runs, by place. Our own packages are also bundled with their devDependencies. */
export function listUsed(entries: LockEntries, path: string): string[] {
  const entry = entries[path] ?? {};
  const isOurs = path.startsWith('packages/');
  const names = Object.keys({
    ...entry.dependencies,
    ...entry.optionalDependencies,
    ...entry.peerDependencies,
    ...(isOurs ? entry.devDependencies : {}),
  });
  return names.flatMap((name) => resolvePackage(entries, path, name) ?? []);
}

/** The places of `from` and of all that they use, directly or not. */
export function listReached(entries: LockEntries, from: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const open = [...from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    open.push(...listUsed(entries, path));
  }
  return reached;
}

/** As Node does it: beside the one that asks, then one folder up, and so on. */
function resolvePackage(entries: LockEntries, from: string, name: string): string | null {
  for (let folder = from; ; folder = parentOf(folder)) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    const found = entries[path];
    if (found !== undefined) return found.link === true ? (found.resolved ?? path) : path;
    if (folder === '') return null;
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}
