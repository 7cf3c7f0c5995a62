/**
 * Moves small loose blobs together into one pack, so that a thousand runs are a few files.
 *
 * Safe beside puts, reads and gc of any process: a file is removed only after the pack with its content is durable, so
 * the content is there at every moment. A reader that finds the file gone looks into the packs again; a put that cannot
 * touch it any more writes it again; the pack is as young as the newest of its blobs would be.
 */
import { unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ifErrno, shareTurn } from '@caisson/ground';

import { forEachOf } from '../platform/index.ts';
import { throwUnlessProblem } from './inspect-blob.ts';
import { LocalBlobs } from './local-blobs.ts';
import {
  blobFile,
  createLayout,
  isMissing,
  listNames,
  statOrNull,
  type LocalLayout,
} from './local-layout.ts';
import { MAX_SMALL_BYTES } from './pack-format.ts';
import { PackWriter } from './pack-writer.ts';
import { sweepTemps } from './sweep-temps.ts';

/** So many small files, loose blobs or tiny packs, become one. */
const ENOUGH_FILES = 32;
/** Every process that looks for a blob reads the index of each pack: many packs below this size become one. */
const MAX_PACKS = 8;
const MAX_PACK_BYTES = 8 * 1024 * 1024;

/** Tidying by a living host; `gc` removes blobs that are not needed. */
export async function tidyStore(folder: string): Promise<void> {
  const layout = createLayout(folder);
  sweepTemps(layout);
  await packLoose(layout);
}

/** Does nothing while there are few files. The folders of blobs stay: each is made, and synced, once. */
async function packLoose(layout: LocalLayout): Promise<void> {
  const loose = await listSmall(layout);
  const { tiny, others } = sortPacks(layout);
  if (loose.length + tiny.length < ENOUGH_FILES) return;
  const blobs = new LocalBlobs(layout);
  const packs = listPacks(blobs, others.length > MAX_PACKS ? [...tiny, ...others] : tiny);
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
    const emptied = packs.filter(
      (pack) => pack.name !== name && pack.digests.every((each) => moved.has(each)),
    );
    await removeAll([
      ...[...packed].map((digest) => blobFile(layout, digest)),
      ...emptied.map(({ file }) => file),
    ]);
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
      (statOrNull(blobFile(layout, digest))?.size ?? Infinity) <= MAX_SMALL_BYTES;
    small.push(...digests.filter(isSmall));
  }
  return small;
}

/** By size: no index is read. */
function sortPacks({ packs }: LocalLayout): Record<'tiny' | 'others', string[]> {
  const sorted = { tiny: [] as string[], others: [] as string[] };
  for (const name of listNames(packs)) {
    const bytes = statOrNull(join(packs, name))?.size ?? Infinity;
    if (bytes <= MAX_PACK_BYTES) sorted[bytes <= MAX_SMALL_BYTES ? 'tiny' : 'others'].push(name);
  }
  return sorted;
}

function listPacks(
  { packs }: LocalBlobs,
  files: readonly string[],
): { name: string; file: string; digests: string[] }[] {
  packs.refresh();
  return packs
    .list()
    .filter(({ file }) => files.includes(basename(file)))
    .flatMap(({ name, file, blobs }) => {
      try {
        return [{ name, file, digests: Array.from(blobs, ({ digest }) => digest) }];
      } catch (error) {
        if (!isMissing(error)) throwUnlessProblem(error);
        return []; // what it holds is unknown, so it stays
      }
    });
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

/** Beside the event loop: a file system that writes its log lets each removal wait. Others need its threads, too. */
async function removeAll(files: readonly string[]): Promise<void> {
  await forEachOf(files, (file) => unlink(file).catch(ifErrno(undefined, 'ENOENT')), 2);
}
