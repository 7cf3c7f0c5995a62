/** Finds objects in the packs of a store, by their indexes (version 2). */
import { constants } from 'node:fs';
import { open, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ifErrno } from '../platform/index.ts';

export interface PackedPlace {
  readonly pack: string;
  readonly offset: number;
}

const SIGNATURE = Buffer.from('ff744f6300000002', 'hex');
const FANOUT_AT = 8;
const IDS_AT = FANOUT_AT + 256 * 4;
const MAX_PACKS = 64;
const MAX_BUCKET_BYTES = 4 * 1024 * 1024;
/** The place is in a table for packs of more than 2 GB. */
const IS_FAR = 0x80000000;

/** Null for an object that is in no pack, and where only git can tell. */
export async function findInPacks(objectDir: string, id: string): Promise<PackedPlace | null> {
  const folder = join(objectDir, 'pack');
  const names = await readdir(folder).catch(ifErrno([], 'ENOENT', 'ENOTDIR'));
  for (const name of names.filter((file) => file.endsWith('.idx')).slice(0, MAX_PACKS)) {
    const offset = await inFile(join(folder, name), (file) => findOffset(file, Buffer.from(id, 'hex')));
    if (offset !== null) return { pack: join(folder, name.replace(/idx$/, 'pack')), offset };
  }
  return null;
}

/** The bytes from there on, at most so many; null if the pack has just been removed by a repack. */
export async function readPacked({ pack, offset }: PackedPlace, maxBytes: number): Promise<Buffer | null> {
  return await inFile(pack, (file) => readAt(file, offset, maxBytes));
}

async function inFile<T>(path: string, read: (file: FileHandle) => Promise<T>): Promise<T | null> {
  // A pipe in place of the file does not block.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(ifErrno(null, 'ENOENT'));
  try {
    return file === null ? null : await read(file);
  } finally {
    await file?.close();
  }
}

async function readAt(file: FileHandle, at: number, bytes: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, at);
  return buffer.subarray(0, bytesRead);
}

async function findOffset(file: FileHandle, id: Buffer): Promise<number | null> {
  const head = await readAt(file, 0, IDS_AT);
  if (head.length < IDS_AT || !head.subarray(0, FANOUT_AT).equals(SIGNATURE)) return null;
  const upTo = (first: number): number => (first < 0 ? 0 : head.readUInt32BE(FANOUT_AT + first * 4));
  const [from, to, count] = [upTo((id[0] ?? 0) - 1), upTo(id[0] ?? 0), upTo(255)];
  const bytes = (to - from) * id.length;
  if (bytes <= 0 || bytes > MAX_BUCKET_BYTES) return null;
  const ids = await readAt(file, IDS_AT + from * id.length, bytes);
  for (let at = 0; at < ids.length; at += id.length) {
    if (!ids.subarray(at, at + id.length).equals(id)) continue;
    const place = await readAt(file, IDS_AT + count * (id.length + 4) + (from + at / id.length) * 4, 4);
    const offset = place.length === 4 ? place.readUInt32BE(0) : IS_FAR;
    return offset >= IS_FAR ? null : offset;
  }
  return null;
}
