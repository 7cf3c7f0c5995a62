/**
 * Packs whose index is damaged: it is made again from the records in front of the blobs. The name of the pack is the sha256
 * of its index, so it proves that nothing was left out. Where it does not (the file is cut short), the blobs that still
 * have their digest become a pack of their own, and the damaged one stays as it is.
 */
import { closeSync } from 'node:fs';
import { shareTurn } from '@caisson/ground';

import { digestOf } from './digest.ts';
import { StoreCorruptError } from './errors.ts';
import { LocalBlobs } from './local-blobs.ts';
import {
  accessError,
  createLayout,
  isMissing,
  packFile,
  statOrNull,
  type LocalLayout,
} from './local-layout.ts';
import {
  encodePackIndex,
  MAX_SMALL_BYTES,
  openPackFile,
  parseRecord,
  readExactly,
  RECORD_BYTES,
  type PackedBlob,
} from './pack-format.ts';
import { PackWriter } from './pack-writer.ts';

export interface RebuiltPack {
  readonly file: string;
  /** Whether the pack is complete again. Each of its blobs is still verified when it is read. */
  readonly isWhole: boolean;
  /** Blobs in the complete pack; else those that were found in it and nowhere else. */
  readonly blobs: number;
}

/** What `rebuildPacks` can do for a damaged pack: make all of it again, or save blobs that are nowhere else. */
export type PackRescue = 'whole' | 'partial';

/** Rebuilds what it can. A pack in which nothing was found is not reported. */
export async function rebuildPacks(folder: string): Promise<RebuiltPack[]> {
  const blobs = openBlobs(folder);
  const rebuilt: RebuiltPack[] = [];
  for (const name of listDamaged(blobs)) rebuilt.push(await rebuildPack(blobs, name));
  return rebuilt.filter((pack) => pack.blobs > 0);
}

/** What `rebuildPacks` would do now, of all damaged packs. Changes nothing. */
export async function listRescues(folder: string): Promise<ReadonlySet<PackRescue>> {
  const blobs = openBlobs(folder);
  const rescues = new Set<PackRescue>();
  for (const name of listDamaged(blobs)) {
    const rescue = await findRescue(blobs, name);
    if (rescue !== null) rescues.add(rescue);
  }
  return rescues;
}

/** Packs whose index cannot be used. */
export function listDamagedPacks(folder: string): string[] {
  const blobs = openBlobs(folder);
  return listDamaged(blobs).map((name) => packFile(blobs.layout, name));
}

/** Whether `rebuildPacks` makes this blob readable again, which only a damaged pack has. */
export function isRescuable(folder: string, digest: string): boolean {
  const blobs = openBlobs(folder);
  return listDamaged(blobs).some((name) => {
    const file = packFile(blobs.layout, name);
    const record = listRecords(file).find((one) => one.digest === digest);
    return record !== undefined && readLost(blobs, file, record) !== null;
  });
}

function openBlobs(folder: string): LocalBlobs {
  const blobs = new LocalBlobs(createLayout(folder));
  blobs.packs.refresh();
  return blobs;
}

/** Not those that may not be read, say: nothing is known to be wrong with them. */
function listDamaged({ packs }: LocalBlobs): string[] {
  const damaged = packs
    .listBroken()
    .filter(({ error }) => error instanceof StoreCorruptError || isDiskError(error.cause));
  return damaged.map(({ name }) => name);
}

async function findRescue(blobs: LocalBlobs, name: string): Promise<PackRescue | null> {
  const file = packFile(blobs.layout, name);
  const records = listRecords(file);
  if (areAll(records, name)) return 'whole';
  for (const record of records) {
    if (readLost(blobs, file, record) !== null) return 'partial';
    await shareTurn();
  }
  return null;
}

async function rebuildPack(blobs: LocalBlobs, name: string): Promise<RebuiltPack> {
  const { layout } = blobs;
  const file = packFile(layout, name);
  const records = listRecords(file);
  if (areAll(records, name)) {
    // The same blobs in the same order get the same name, and so replace the damaged file.
    const count = await writePack(layout, records, (record) => readBlob(file, record), records.length);
    if (count > 0) return { file, isWhole: true, blobs: count };
  }
  // Under another name nothing says that a blob was ever right, so each is verified.
  const count = await writePack(layout, records, (record) => readLost(blobs, file, record));
  return { file, isWhole: false, blobs: count };
}

function areAll(records: readonly PackedBlob[], name: string): boolean {
  return records.length > 0 && encodePackIndex(records).name === name;
}

/** Writes what was read, as a pack, and returns how many blobs it has: none if fewer than `least` could be read. */
async function writePack(
  layout: LocalLayout,
  records: readonly PackedBlob[],
  read: (record: PackedBlob) => Buffer | null,
  least = 1,
): Promise<number> {
  const writer = new PackWriter(layout);
  try {
    for (const record of records) {
      const bytes = read(record);
      if (bytes !== null) await writer.add(record.digest, bytes);
      await shareTurn();
    }
    if (writer.count < least) return 0;
    await writer.commit();
    return writer.count;
  } finally {
    await writer.abandon();
  }
}

/** The records from the beginning of the file to the first place where there is none. */
function listRecords(file: string): PackedBlob[] {
  const size = Number(statOrNull(file)?.size ?? 0);
  const records: PackedBlob[] = [];
  for (let at = 0; at + RECORD_BYTES <= size;) {
    const bytes = readPart(file, at, RECORD_BYTES);
    if (bytes === null) return records;
    const record = parseRecord(bytes, 0);
    const end = record.offset + record.size;
    if (record.offset !== at + RECORD_BYTES || record.size > MAX_SMALL_BYTES || end > size) return records;
    records.push(record);
    at = end;
  }
  return records;
}

/** Null for a blob that does not have its digest, or is found elsewhere. */
function readLost(blobs: LocalBlobs, file: string, record: PackedBlob): Buffer | null {
  if (blobs.findReadable(record.digest) !== null) return null;
  const bytes = readBlob(file, record);
  return bytes !== null && digestOf(bytes) === record.digest ? bytes : null;
}

function readBlob(file: string, { offset, size }: PackedBlob): Buffer | null {
  return readPart(file, offset, size);
}

/** Null for what the file does not have, or the disk does not return. */
function readPart(file: string, offset: number, length: number): Buffer | null {
  try {
    const fd = openPackFile(file);
    try {
      return readExactly(fd, offset, length);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    if (isMissing(cause) || isDiskError(cause)) return null;
    throw accessError(file, cause);
  }
}

function isDiskError(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'EIO';
}
