/**
 * Where things are in a store folder. Folders are 0700, files 0600; all are made on first use.
 *
 *   blobs/ab/cdef…     one blob a file
 *   packs/<hash>.pack  small blobs, written together
 *   tmp/               writes in progress; never read, swept by gc
 *   trash/             what gc is about to remove; still readable until it is gone
 *   unsent/            names of what the remote copy still lacks, if there is one
 *   stat-cache/        which digest an unchanged file had
 */
import { lstatSync, mkdirSync, readdirSync, renameSync, type BigIntStats } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';

import { makeFolder, makeFolderAsync } from '@caisson/ground';

import { StoreAccessError } from './errors.ts';

export interface LocalLayout {
  readonly root: string;
  readonly blobs: string;
  readonly packs: string;
  readonly temps: string;
  readonly trash: string;
  readonly statCache: string;
}

export function createLayout(root: string): LocalLayout {
  return {
    root,
    blobs: join(root, 'blobs'),
    packs: join(root, 'packs'),
    temps: join(root, 'tmp'),
    trash: join(root, 'trash'),
    statCache: join(root, 'stat-cache'),
  };
}

export function blobFile(layout: LocalLayout, digest: string): string {
  return join(layout.blobs, digest.slice(0, 2), digest.slice(2));
}

export function packFile(layout: LocalLayout, name: string): string {
  return join(layout.packs, `${name}.pack`);
}

/** A fresh name in tmp/, whose folder exists. */
export function createTempPath(layout: LocalLayout): string {
  ensureFolder(layout.temps);
  return join(layout.temps, randomBytes(12).toString('hex'));
}

/** Makes the folder, durably, if it is not there. */
export function ensureFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    throw cannotCreate(folder, cause);
  }
}

/** The same beside other work. */
export async function ensureFolderAsync(folder: string): Promise<void> {
  try {
    await makeFolderAsync(folder);
  } catch (cause) {
    throw cannotCreate(folder, cause);
  }
}

function cannotCreate(folder: string, cause: unknown): StoreAccessError {
  return new StoreAccessError(`cannot create store folder ${folder}: ${describeCause(cause)}`, {
    cause,
    remedy: 'Check that the state folder is writable and the disk is not full.',
  });
}

/** The names in a folder; none only when the folder does not exist. */
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw accessError(folder, cause);
  }
}

/** The file's stats, or null only when the file does not exist. */
export function statOrNull(file: string): BigIntStats | null {
  try {
    return lstatSync(file, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch (cause) {
    throw accessError(file, cause);
  }
}

/** False when the file is not there. */
export function moveIfThere(from: string, to: string): boolean {
  try {
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    renameSync(from, to);
    return true;
  } catch (cause) {
    if (isMissing(cause)) return false;
    throw accessError(from, cause);
  }
}

export function accessError(file: string, cause: unknown): StoreAccessError {
  return new StoreAccessError(`cannot access ${file}: ${describeCause(cause)}`, {
    cause,
    remedy: 'Check the permissions of the store folder and the health of the disk.',
  });
}

export function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}

function describeCause(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
