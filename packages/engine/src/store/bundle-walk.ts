/** Reads the shape of a folder, without reading any file, and refuses what cannot be in a bundle. */
import { isUtf8 } from 'node:buffer';
import { lstatSync, readdirSync, readlinkSync, type BigIntStats, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { shareTurn } from '@caisson/ground';

import { refuseUnsafeSegment } from './bundle-rules.ts';
import type { PutBundleOptions } from './contract.ts';
import { BundleRefusedError, StoreAccessError } from './errors.ts';

export interface FoundFile {
  readonly kind: 'file';
  readonly path: string;
  readonly stats: BigIntStats;
}
export type FoundEntry =
  | FoundFile
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  | { readonly kind: 'folder'; readonly path: string };

/** Every entry of the folder; order is not yet canonical. */
export async function walkFolder(root: string, options: PutBundleOptions): Promise<FoundEntry[]> {
  const found: FoundEntry[] = [];
  let bytes = 0n;
  const pending = [''];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const names = listFolder(root, folder);
    if (names.length === 0 && folder !== '') found.push({ kind: 'folder', path: folder });
    for (const dirent of names) {
      const path = joinPath(folder, readName(dirent.name, folder));
      const entry = readEntry(root, path, dirent);
      if (entry === 'folder') {
        pending.push(path);
        continue;
      }
      found.push(entry);
      if (entry.kind === 'file') bytes += entry.stats.size;
      refuseExcess(found.length, bytes, path, options);
    }
    await shareTurn(options.signal);
  }
  refuseExcess(found.length, bytes, '', options);
  return found;
}

/** Throws when a folder is over the limits the caller set. */
export function refuseExcess(files: number, bytes: bigint, path: string, options: PutBundleOptions): void {
  if (options.maxFiles !== undefined && files > options.maxFiles) {
    throw new BundleRefusedError('too-many-files', path, `more than ${options.maxFiles} entries`);
  }
  if (options.maxBytes !== undefined && bytes > BigInt(options.maxBytes)) {
    throw new BundleRefusedError('too-large', path, `more than ${options.maxBytes} bytes in all`);
  }
}

function listFolder(root: string, folder: string): Dirent<Buffer>[] {
  try {
    return readdirSync(join(root, folder), { withFileTypes: true, encoding: 'buffer' });
  } catch (cause) {
    if (isNotFolder(cause))
      throw new BundleRefusedError('not-a-folder', join(root, folder), 'is not a folder');
    throw new StoreAccessError(`cannot list ${join(root, folder)}: ${String(cause)}`, { cause });
  }
}

function isNotFolder(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOTDIR' || cause.code === 'ENOENT');
}

function readName(raw: Buffer, folder: string): string {
  if (!isUtf8(raw)) {
    throw new BundleRefusedError(
      'invalid-utf8',
      joinPath(folder, raw.toString('latin1')),
      'name is not valid UTF-8',
    );
  }
  const name = raw.toString('utf8');
  if (name.includes('\\'))
    throw new BundleRefusedError('backslash', joinPath(folder, name), 'name contains a backslash');
  refuseUnsafeSegment(name, joinPath(folder, name));
  return name;
}

function readEntry(root: string, path: string, dirent: Dirent<Buffer>): FoundEntry | 'folder' {
  if (dirent.isDirectory()) return 'folder';
  const full = join(root, path);
  if (dirent.isSymbolicLink()) return { kind: 'link', path, target: readTarget(full, path) };
  if (!dirent.isFile())
    throw new BundleRefusedError('special-file', path, 'is neither file, folder nor link');
  const stats = lstatSync(full, { bigint: true });
  if (!stats.isFile()) throw new BundleRefusedError('changed-while-reading', path, 'changed its kind');
  return { kind: 'file', path, stats };
}

function readTarget(full: string, path: string): string {
  const raw = readlinkSync(full, { encoding: 'buffer' });
  if (!isUtf8(raw)) throw new BundleRefusedError('invalid-utf8', path, 'link target is not valid UTF-8');
  return raw.toString('utf8');
}

function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}
