/**
 * What may be in a bundle. The same rules apply to a folder that is put and to a manifest that is read, because another
 * program may have written a manifest with the right hash.
 */
import type { BundleEntry } from './contract.ts';
import { BundleRefusedError } from './errors.ts';

const MAX_PATH_BYTES = 4096;
const MAX_SEGMENT_BYTES = 255;
const MAX_LINK_HOPS = 40;

/** Throws unless the path is relative, normalised and safe on every platform we write to. */
export function refuseUnsafePath(path: string): void {
  if (path.startsWith('/')) throw new BundleRefusedError('absolute-path', path, 'paths are relative');
  if (path.includes('\\')) throw new BundleRefusedError('backslash', path, 'use / between folders');
  if (/^[A-Za-z]:/.test(path))
    throw new BundleRefusedError('absolute-path', path, 'drive letters are absolute');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new BundleRefusedError('invalid-name', path, `longer than ${MAX_PATH_BYTES} bytes`);
  }
  for (const segment of path.split('/')) refuseUnsafeSegment(segment, path);
}

/** Throws unless one name of a path is safe. */
export function refuseUnsafeSegment(segment: string, path: string): void {
  if (segment === '..' || segment === '.') {
    throw new BundleRefusedError('dot-segment', path, `"${segment}" is not allowed in a path`);
  }
  if (segment === '__proto__') {
    throw new BundleRefusedError('proto-segment', path, '"__proto__" is not allowed as a name');
  }
  if (segment === '' || segment.includes('\0')) {
    throw new BundleRefusedError('invalid-name', path, 'a name is empty or contains NUL');
  }
  if (!segment.isWellFormed())
    throw new BundleRefusedError('invalid-utf8', path, 'a name is not valid Unicode');
  if (segment.length * 3 > MAX_SEGMENT_BYTES && Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) {
    throw new BundleRefusedError('invalid-name', path, `a name is longer than ${MAX_SEGMENT_BYTES} bytes`);
  }
}

/** Throws when no file system can hold all entries together, or when a link leaves the bundle. */
export function refuseUnsafeTree(entries: readonly BundleEntry[]): void {
  const kinds = new Map<string, BundleEntry | 'parent'>();
  const folded = new Map<string, string>();
  for (const entry of entries) {
    refuseCollision(entry.path, folded);
    if (kinds.has(entry.path)) throw new BundleRefusedError('path-conflict', entry.path, 'listed twice');
    kinds.set(entry.path, entry);
  }
  for (const entry of entries) markParents(entry.path, kinds, folded);
  for (const entry of entries) if (entry.kind === 'link') refuseLinkOut(entry.path, entry.target, kinds);
}

function markParents(
  path: string,
  kinds: Map<string, BundleEntry | 'parent'>,
  folded: Map<string, string>,
): void {
  for (let cut = path.lastIndexOf('/'); cut > 0; cut = path.lastIndexOf('/', cut - 1)) {
    const parent = path.slice(0, cut);
    const known = kinds.get(parent);
    if (known === 'parent') return;
    if (known !== undefined)
      throw new BundleRefusedError('path-conflict', parent, `is a ${known.kind}, yet holds ${path}`);
    refuseCollision(parent, folded);
    kinds.set(parent, 'parent');
  }
}

/** Two names that a case-insensitive or normalising file system would merge. */
function refuseCollision(path: string, folded: Map<string, string>): void {
  const key = isPlain(path)
    ? path.toLowerCase()
    : path.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC').toLowerCase();
  const other = folded.get(key);
  if (other !== undefined && other !== path) {
    throw new BundleRefusedError(
      'case-collision',
      path,
      `collides with ${JSON.stringify(other)} where case does not count`,
    );
  }
  folded.set(key, path);
}

function isPlain(path: string): boolean {
  for (let index = 0; index < path.length; index += 1) if (path.charCodeAt(index) > 127) return false;
  return true;
}

/**
 * Follows a link name by name through the bundle's own links. Comparing text is not enough: with
 * `a/b/up -> ../..`, the target `a/b/up/../x` looks as if it stayed inside, and leaves.
 */
function refuseLinkOut(
  path: string,
  target: string,
  kinds: ReadonlyMap<string, BundleEntry | 'parent'>,
): void {
  const leaves = (detail: string) =>
    new BundleRefusedError('symlink-out', path, `link to ${JSON.stringify(target)} ${detail}`);
  if (target === '' || target.includes('\0') || target.includes('\\')) throw leaves('is not a usable target');
  if (target.startsWith('/')) throw leaves('is absolute');
  const at = path.split('/').slice(0, -1);
  const pending = target.split('/');
  let hops = 0;
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (at.pop() === undefined) throw leaves('leaves the bundle');
      continue;
    }
    at.push(name);
    const met = kinds.get(at.join('/'));
    if (met === undefined || met === 'parent' || met.kind !== 'link') continue;
    hops += 1;
    if (hops > MAX_LINK_HOPS) throw leaves('goes in circles');
    at.pop();
    pending.unshift(...met.target.split('/'));
  }
}
