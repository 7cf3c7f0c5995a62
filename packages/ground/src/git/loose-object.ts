/** Single objects of a store, as git stores those that are in no pack. */
import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import { readFileCapped } from '../files/index.ts';
import { ifErrno, isErrno } from '../platform/index.ts';
import { objectFormatOf } from './own-git-dir.ts';
import { findInPacks } from './packs.ts';

/** As git itself: objects are written once and most are packed later. */
const FAST = { level: 1 };
const READ_ONLY = 0o444;
const MAX_READ_BYTES = 1024 * 1024;

export function loosePath(objectDir: string, id: string): string {
  return join(objectDir, id.slice(0, 2), id.slice(2));
}

export interface NewObject {
  readonly kind: 'tree' | 'commit';
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * Writes an object that the store does not have yet. It is not on disk for sure when it resolves: what a ref names is synced
 * before the ref, with its folders.
 */
export async function writeLooseObject(objectDir: string, { kind, id, bytes }: NewObject): Promise<void> {
  if (await freshenObject(objectDir, id)) return;
  const path = loosePath(objectDir, id);
  const whole = Buffer.concat([Buffer.from(`${kind} ${bytes.length}\0`), bytes]);
  const packed = await promisify(deflate)(whole, FAST);
  // A git gc removes folders that it emptied.
  await placeObject(path, packed).catch(() => placeObject(path, packed));
}

async function placeObject(path: string, packed: Buffer): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const draft = join(folder, `tmp_obj_${randomBytes(8).toString('hex')}`); // git prune knows such names
  try {
    await writeFile(draft, packed, { mode: READ_ONLY, flag: 'wx' });
    await link(draft, path).catch(ifErrno(undefined, 'EEXIST'));
  } finally {
    await rm(draft, { force: true });
  }
}

/** The content of a loose object whose bytes have the id; null for one that is in a pack, missing or broken. */
export async function readLooseObject(objectDir: string, id: string): Promise<Buffer | null> {
  const packed = await readFileCapped(loosePath(objectDir, id), MAX_READ_BYTES).catch(() => null);
  if (packed === null) return null;
  const whole = await promisify(inflate)(packed, { maxOutputLength: MAX_READ_BYTES }).catch(() => null);
  if (whole === null || createHash(objectFormatOf(id)).update(whole).digest('hex') !== id) return null;
  return whole.subarray(whole.indexOf(0) + 1);
}

/** Whether the store has an object. One that it has must not look old: a git gc removes old ones that no ref names. */
export async function freshenObject(objectDir: string, id: string): Promise<boolean> {
  if (await freshen(loosePath(objectDir, id))) return true;
  const place = await findInPacks(objectDir, id);
  return place !== null && (await freshen(place.pack));
}

async function freshen(path: string): Promise<boolean> {
  const now = new Date();
  try {
    await utimes(path, now, now);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EPERM', 'EACCES')) return false;
    throw error;
  }
}
