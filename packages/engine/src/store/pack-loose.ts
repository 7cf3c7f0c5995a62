/**
 * Moves small loose blobs together into one pack, so that a thousand runs are a few files.
 *
 * Safe beside puts, reads and gc of any process: a file is removed only after the pack with its content is durable, so
 * the content is there at every moment. A reader that finds the file gone looks into the packs again; a put that cannot
 * touch it any more writes it again; the pack is as young as the newest of its blobs would be.
 */
import { rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { removeFileSync, shareTurn } from '@caisson/ground';

import { throwUnlessProblem } from './inspect-blob.ts';
import { LocalBlobs } from './local-blobs.ts';
import { sweepTemps } from './local-gc.ts';
import { blobFile, createLayout, listNames, statOrNull, type LocalLayout } from './local-layout.ts';
import { PackWriter } from './pack-writer.ts';

/** Blobs are spread over up to 256 folders: so many folders are at least as many files. */
const ENOUGH_FOLDERS = 32;
/** Larger blobs stay loose files. */
const MAX_BLOB_BYTES = 64 * 1024;
/** Every process that looks for a blob reads the index of each pack: many small packs become one. */
const MAX_SMALL_PACKS = 8;
const MAX_SMALL_PACK_BYTES = 8 * 1024 * 1024;

/** Tidying by a living host; `gc` removes blobs that are not needed. */
export async function tidyStore(folder: string): Promise<void> {
  const layout = createLayout(folder);
  sweepTemps(layout);
  await packLoose(layout);
}

/** Does nothing while there are few files. */
async function packLoose(layout: LocalLayout): Promise<void> {
  if (listNames(layout.blobs).length < ENOUGH_FOLDERS) return;
  const blobs = new LocalBlobs(layout);
  const loose = await listSmall(layout);
  const packs = listSmallPacks(blobs);
  const writer = new PackWriter(layout);
  try {
    const packed = await copy(blobs, writer, loose);
    const moved = await copy(
      blobs,
      writer,
      packs.flatMap(({ digests }) => digests),
    );
    if (writer.count === 0) return;
    const name = await writer.commit();
    for (const digest of packed) {
      removeFileSync(blobFile(layout, digest));
      await shareTurn();
    }
    const emptied = packs.filter(
      (pack) => pack.name !== name && pack.digests.every((each) => moved.has(each)),
    );
    for (const { file } of emptied) removeFileSync(file);
    await removeEmptyFolders(layout);
  } finally {
    await writer.abandon();
  }
}

async function listSmall(layout: LocalLayout): Promise<string[]> {
  const small: string[] = [];
  for (const shard of listNames(layout.blobs)) {
    await shareTurn();
    const digests = listNames(join(layout.blobs, shard)).map((rest) => shard + rest);
    const isSmall = (digest: string): boolean =>
      (statOrNull(blobFile(layout, digest))?.size ?? Infinity) <= MAX_BLOB_BYTES;
    small.push(...digests.filter(isSmall));
  }
  return small;
}

function listSmallPacks({ packs }: LocalBlobs): { name: string; file: string; digests: string[] }[] {
  packs.refresh();
  const small = packs
    .list()
    .filter(({ file }) => (statOrNull(file)?.size ?? Infinity) <= MAX_SMALL_PACK_BYTES)
    .map(({ name, file, blobs }) => ({ name, file, digests: Array.from(blobs, ({ digest }) => digest) }));
  return small.length > MAX_SMALL_PACKS ? small : [];
}

/**
 * Those that were written. One that is damaged or unreadable, or was collected just now, stays as it is and does not
 * stop the others.
 */
async function copy(blobs: LocalBlobs, writer: PackWriter, digests: readonly string[]): Promise<Set<string>> {
  const copied = new Set<string>();
  for (const digest of digests) {
    try {
      await writer.add(digest, await blobs.read(digest));
      copied.add(digest);
    } catch (error) {
      throwUnlessProblem(error);
    }
    await shareTurn();
  }
  return copied;
}

async function removeEmptyFolders({ blobs }: LocalLayout): Promise<void> {
  for (const shard of listNames(blobs)) {
    await shareTurn();
    try {
      rmdirSync(join(blobs, shard));
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
    }
  }
}
