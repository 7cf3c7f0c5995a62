/**
 * Removes what no root reaches, while others keep putting and reading.
 *
 * A put that finds a blob in place touches its file and then relies on it. A removal is: read the time, move to trash/,
 * read the time again, and only then unlink. So for every order of the two:
 *  1. touch before the move: the second read sees a newer time, and the file moves back;
 *  2. touch after the move: the put finds nothing to touch and writes the blob again. trash/ is readable, so a reader
 *     never misses a blob that is about to move back. A crash leaves files in trash/; the next gc moves them back first
 *     and decides again.
 */
import { rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { removeFileSync, shareTurn } from '@caisson/ground';

import type { BlobProblem, Digests, GcOptions, GcReport, Roots } from './contract.ts';
import { toProblem } from './inspect-blob.ts';
import type { LocalBlobs } from './local-blobs.ts';
import { LocalReader } from './local-reader.ts';
import { blobFile, ensureFolder, isMissing, listNames, moveIfThere, statOrNull } from './local-layout.ts';
import { listHeld } from './list-held.ts';
import { markRoots } from './mark-roots.ts';
import { BLOBS_IN_PACK, PackSeries } from './pack-series.ts';
import type { ListedPack } from './packs.ts';
import { sweepTemps } from './sweep-temps.ts';

const MAX_PACKS = 64;

export async function collectLocalGarbage(
  blobs: LocalBlobs,
  roots: Iterable<string> | Roots,
  options: GcOptions,
): Promise<GcReport> {
  const collection = new Collection(blobs, options);
  collection.emptyTrash();
  const { live, missing, problems, isComplete } = await markRoots(
    {
      list: () => listHeld(blobs),
      findSize: async (digest) => blobs.findReadable(digest)?.size ?? null,
      read: (digest) => blobs.read(digest),
    },
    roots,
    options,
  );
  if (isComplete) {
    await collection.collectLoose(live);
    await collection.collectPacks(live);
  }
  collection.sweepTemps();
  blobs.packs.refresh();
  const broken = blobs.packs.listBroken().map(({ name, error }) => toProblem(name, error));
  return { ...collection.counts, missing, problems: [...problems, ...broken, ...collection.problems] };
}

interface CopyTools {
  readonly reader: LocalReader;
  readonly writer: PackSeries;
}

/** What nothing needs of one pack. */
interface Dead {
  readonly blobs: number;
  readonly bytes: number;
}

interface DoomedPack extends Dead {
  readonly name: string;
  readonly file: string;
}

class Collection {
  readonly #blobs: LocalBlobs;
  readonly #signal: AbortSignal | undefined;
  readonly #youngAfterMs: number;
  readonly problems: BlobProblem[] = [];
  readonly counts = { keptBlobs: 0, youngBlobs: 0, removedBlobs: 0, removedBytes: 0, sweptTemps: 0 };

  constructor(blobs: LocalBlobs, options: GcOptions) {
    this.#blobs = blobs;
    this.#signal = options.signal;
    this.#youngAfterMs = Date.now() - options.graceMs;
  }

  /** Leftovers of a gc that died; moved back, because a root may reach them by now. */
  emptyTrash(): void {
    const { layout } = this.#blobs;
    for (const name of listNames(layout.trash)) {
      const home = name.endsWith('.pack') ? join(layout.packs, name) : blobFile(layout, name);
      if (statOrNull(home) !== null) removeFileSync(join(layout.trash, name));
      else moveIfThere(join(layout.trash, name), home);
    }
  }

  async collectLoose(live: Digests): Promise<void> {
    const { blobs } = this.#blobs.layout;
    for (const shard of listNames(blobs)) {
      for (const rest of this.#listShard(join(blobs, shard))) {
        const digest = shard + rest;
        const file = join(blobs, shard, rest);
        if (live.has(digest)) this.counts.keptBlobs += 1;
        else this.#count(this.#remove(file, digest));
        await shareTurn(this.#signal);
      }
    }
  }

  /** An unreadable one does not block the others. */
  #listShard(folder: string): string[] {
    try {
      return listNames(folder);
    } catch (error) {
      this.problems.push(toProblem(basename(folder), error));
      return [];
    }
  }

  /**
   * A pack with dead blobs is replaced by one without them; what is left of the replaced ones is written together, into
   * packs of a size at which their making fits into memory. When there are many small packs, all old ones are written
   * together, because every process that looks for a blob reads the index of each.
   */
  async collectPacks(live: Digests): Promise<void> {
    this.#blobs.packs.refresh();
    const doomed: DoomedPack[] = [];
    const writer = new PackSeries(this.#blobs.layout);
    const reader = new LocalReader(this.#blobs);
    try {
      const packs = this.#blobs.packs.list();
      const small = new Set(packs.filter(({ count }) => count < BLOBS_IN_PACK / 2));
      const isCrowded = small.size > MAX_PACKS;
      for (const pack of packs) {
        const dead = this.#countDead(pack, live);
        if (dead === null || (dead.blobs === 0 && !(isCrowded && small.has(pack)))) continue;
        if (this.#isYoung(pack.file)) {
          this.counts.youngBlobs += dead.blobs;
          continue;
        }
        if (!(await this.#copyLive(pack, live, { reader, writer }))) continue;
        doomed.push({ name: pack.name, file: pack.file, ...dead });
      }
      await writer.commit();
    } finally {
      reader.close();
      await writer.abandon();
    }
    for (const pack of doomed) if (!writer.names.has(pack.name)) this.#removePack(pack);
  }

  /** Null for a pack that is gone, or cannot be read. */
  #countDead({ name, blobs }: ListedPack, live: Digests): Dead | null {
    const dead = { blobs: 0, bytes: 0 };
    let kept = 0;
    try {
      for (const { digest, size } of blobs) {
        if (live.has(digest)) kept += 1;
        else {
          dead.blobs += 1;
          dead.bytes += size;
        }
      }
    } catch (error) {
      if (!isMissing(error)) this.problems.push(toProblem(name, error));
      return null;
    }
    this.counts.keptBlobs += kept;
    return dead;
  }

  /** False when something in it is damaged: then the pack stays, and the copied blobs exist twice. */
  async #copyLive({ name, blobs }: ListedPack, live: Digests, tools: CopyTools): Promise<boolean> {
    try {
      for (const { digest } of blobs) {
        if (live.has(digest) && !(await this.#copy(digest, tools))) return false;
        await shareTurn(this.#signal);
      }
      return true;
    } catch (error) {
      if (!isMissing(error)) this.problems.push(toProblem(name, error));
      return false;
    }
  }

  async #copy(digest: string, { reader, writer }: CopyTools): Promise<boolean> {
    try {
      await writer.add(digest, await reader.read(digest));
      return true;
    } catch (error) {
      this.problems.push(toProblem(digest, error));
      return false;
    }
  }

  sweepTemps(): void {
    this.counts.sweptTemps += sweepTemps(this.#blobs.layout);
  }

  #removePack(pack: DoomedPack): void {
    const removed = this.#remove(pack.file, `${pack.name}.pack`);
    if (removed === 'young') {
      this.counts.youngBlobs += pack.blobs;
      return;
    }
    this.counts.removedBlobs += pack.blobs;
    this.counts.removedBytes += pack.bytes;
  }

  #count(removed: 'young' | number): void {
    if (removed === 'young') {
      this.counts.youngBlobs += 1;
      return;
    }
    this.counts.removedBlobs += 1;
    this.counts.removedBytes += removed;
  }

  #isYoung(file: string): boolean {
    const stats = statOrNull(file);
    return stats === null || Number(stats.mtimeMs) > this.#youngAfterMs;
  }

  /** The number of bytes freed, or `young` when the file is in use. */
  #remove(file: string, trashName: string): 'young' | number {
    const before = statOrNull(file);
    if (before === null || Number(before.mtimeMs) > this.#youngAfterMs) return 'young';
    const trash = join(this.#blobs.layout.trash, trashName);
    ensureFolder(dirname(trash));
    if (!moveIfThere(file, trash)) return 'young';
    const after = statOrNull(trash);
    if (after === null) return 'young'; // another gc began meanwhile and moved it back; that gc decides
    if (after.mtimeNs !== before.mtimeNs) {
      moveIfThere(trash, file);
      return 'young';
    }
    rmSync(trash, { force: true, recursive: true });
    return Number(before.size);
  }
}
