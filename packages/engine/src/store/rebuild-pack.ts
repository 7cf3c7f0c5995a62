/**
 * Packs whose index is damaged: it is made again from the records in front of the blobs. The name of the pack is the sha256
 * of its index, so it proves that nothing was left out. Where it does not (the file is cut short), the blobs that still
 * have their digest become a pack of their own, and the damaged one stays as it is.
 */
import { closeSync, openSync } from 'node:fs';
import { shareTurn } from '@caisson/ground';

import { digestOf } from './digest.ts';
import { LocalBlobs } from './local-blobs.ts';
import { createLayout, packFile, statOrNull } from './local-layout.ts';
import { encodePackIndex, parseRecord, readExactly, RECORD_BYTES, type PackedBlob } from './pack-format.ts';
import { PackWriter } from './pack-writer.ts';

export interface RebuiltPack {
  readonly file: string;
  /** Whether the pack is complete again. Each of its blobs is still verified when it is read. */
  readonly isWhole: boolean;
  /** Blobs in the complete pack; else those that were found in it and nowhere else. */
  readonly blobs: number;
}

/** Rebuilds what it can. A pack in which nothing was found is not reported. */
export async function rebuildPacks(folder: string): Promise<RebuiltPack[]> {
  const blobs = openBlobs(folder);
  const rebuilt: RebuiltPack[] = [];
  for (const { name } of blobs.packs.listBroken()) rebuilt.push(await rebuildPack(blobs, name));
  return rebuilt.filter((pack) => pack.blobs > 0);
}

/** Whether there is a damaged pack in which `rebuildPacks` finds something. */
export function hasRebuildable(folder: string): boolean {
  const { packs, layout } = openBlobs(folder);
  return packs.listBroken().some(({ name }) => listRecords(packFile(layout, name)).length > 0);
}

function openBlobs(folder: string): LocalBlobs {
  const blobs = new LocalBlobs(createLayout(folder));
  blobs.packs.refresh();
  return blobs;
}

async function rebuildPack(blobs: LocalBlobs, name: string): Promise<RebuiltPack> {
  const file = packFile(blobs.layout, name);
  const writer = new PackWriter(blobs.layout);
  try {
    const records = listRecords(file);
    const isWhole = encodePackIndex(records).name === name;
    for (const record of records) {
      const bytes = readPart(file, record.offset, record.size);
      if (bytes !== null && (isWhole || isLost(blobs, record.digest, bytes)))
        await writer.add(record.digest, bytes);
      await shareTurn();
    }
    // The same blobs in the same order get the same name, and so replace the damaged file.
    const made = writer.count === 0 ? null : await writer.commit();
    return { file, isWhole: made === name, blobs: writer.count };
  } finally {
    await writer.abandon();
  }
}

/** The records from the beginning of the file to the first place where there is none. */
function listRecords(file: string): PackedBlob[] {
  const size = Number(statOrNull(file)?.size ?? 0);
  const records: PackedBlob[] = [];
  for (let at = 0; ;) {
    const bytes = readPart(file, at, RECORD_BYTES);
    if (bytes === null) return records;
    const record = parseRecord(bytes, 0);
    if (record.offset !== at + RECORD_BYTES || record.offset + record.size > size) return records;
    records.push(record);
    at = record.offset + record.size;
  }
}

/** Right, and not in the store. */
function isLost(blobs: LocalBlobs, digest: string, bytes: Buffer): boolean {
  return digestOf(bytes) === digest && blobs.findReadable(digest) === null;
}

/** Null for what the file does not have, or cannot be read. */
function readPart(file: string, offset: number, length: number): Buffer | null {
  try {
    const fd = openSync(file, 'r');
    try {
      return readExactly(fd, offset, length);
    } finally {
      closeSync(fd);
    }
  } catch {
    return null; // the doctor says why
  }
}
