/** Where a blob is, and how its bytes are read there. */
import { closeSync, openSync, utimesSync } from 'node:fs';
import { verifyBytes } from './digest.ts';
import { StoreCorruptError } from './errors.ts';
import { accessError, isMissing, statOrNull } from './local-layout.ts';
import { readExactly } from './pack-format.ts';

export type BlobPlace =
  | { readonly kind: 'nowhere'; readonly file: ''; readonly size: 0 }
  | { readonly kind: 'loose'; readonly file: string; readonly size: number }
  | {
      readonly kind: 'packed';
      readonly file: string;
      readonly name: string;
      readonly offset: number;
      readonly size: number;
    };

/** Of empty content. */
export const NOWHERE: BlobPlace = { kind: 'nowhere', file: '', size: 0 };

/** Reads a blob out of its pack; not yet verified. */
export function readPacked(digest: string, place: BlobPlace & { kind: 'packed' }, fd?: number): Buffer {
  const file = fd ?? openSync(place.file, 'r');
  try {
    const bytes = readExactly(file, place.offset, place.size);
    if (bytes === null) throw new StoreCorruptError(digest, place.file, 'pack is cut short');
    return bytes;
  } finally {
    if (fd === undefined) closeSync(file);
  }
}

/** Reads a blob out of its pack. */
export function readVerified(digest: string, place: BlobPlace & { kind: 'packed' }): Buffer {
  const bytes = readPacked(digest, place);
  verifyBytes(digest, bytes, place.file);
  return bytes;
}

/** A blob that is a loose file; null if there is none. */
export function findLoose(file: string): BlobPlace | null {
  const stats = statOrNull(file);
  return stats === null ? null : { kind: 'loose', file, size: Number(stats.size) };
}

/** Makes a file young again; false when it is gone. */
export function touchFile(file: string): boolean {
  try {
    const now = Date.now() / 1000;
    utimesSync(file, now, now);
    return true;
  } catch (cause) {
    if (isMissing(cause)) return false;
    throw accessError(file, cause);
  }
}
