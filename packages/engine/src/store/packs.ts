import { closeSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

import { definedOnly } from '@caisson/protocol';

import { StoreAccessError, StoreCorruptError } from './errors.ts';
import { throwUnlessProblem } from './inspect-blob.ts';
import { accessError, isMissing, listNames, packFile, type LocalLayout } from './local-layout.ts';
import {
  findHead,
  findInIndex,
  readPackIndex,
  walkIndex,
  type PackedBlob,
  type PackIndex,
  openPackFile,
} from './pack-format.ts';

export interface PackPlace {
  readonly file: string;
  readonly name: string;
  readonly offset: number;
  readonly size: number;
}

interface KnownPack {
  readonly file: string;
  readonly index: PackIndex;
}

export interface ListedPack {
  readonly name: string;
  readonly file: string;
  readonly count: number;
  /**
   * May be walked through again and again, each time out of the file. Throws ENOENT if that is gone: another process has
   * collected it, and its blobs that are needed are in a newer pack.
   */
  readonly blobs: Iterable<PackedBlob>;
}

/** A pack whose index cannot be used: its content is unknown. */
interface BrokenPack {
  readonly name: string;
  readonly error: StoreCorruptError | StoreAccessError;
}

/**
 * The packs of a store folder. An index is read and checked once, and four bytes of each of its blobs are kept; `refresh`
 * notices what others added or removed.
 */
export class Packs {
  readonly #layout: LocalLayout;
  #known = new Map<string, KnownPack>();
  #broken: BrokenPack[] = [];

  constructor(layout: LocalLayout) {
    this.#layout = layout;
  }

  refresh(): void {
    const known = new Map<string, KnownPack>();
    const broken: BrokenPack[] = [];
    for (const folder of [this.#layout.trash, this.#layout.packs]) {
      for (const file of listPackFiles(folder)) {
        const name = file.slice(0, -'.pack'.length);
        const loaded = this.#known.get(name)?.index ?? readIndexIfThere(join(folder, file), name);
        if (loaded === null) continue;
        if ('heads' in loaded) known.set(name, { file: join(folder, file), index: loaded });
        else broken.push({ name, error: loaded });
      }
    }
    this.#known = known;
    this.#broken = broken;
  }

  /** As of the last `refresh`. */
  listBroken(): readonly BrokenPack[] {
    return this.#broken;
  }

  /** Throws for a blob that was found nowhere, if a pack is broken: it may be in there, also from another run. */
  refuseUnknown(digest: string): void {
    const [first] = this.#broken;
    if (first === undefined) return;
    const file = packFile(this.#layout, first.name);
    const count = this.#broken.length;
    const which = count === 1 ? file : `one of ${count} packs that cannot be used, such as ${file}`;
    const where = `${digest} is found nowhere else, and may be in ${which}, also if another run stored it there`;
    const { error } = first;
    throw error instanceof StoreCorruptError
      ? new StoreCorruptError(digest, error.file, error.detail, where)
      : new StoreAccessError(`${where}: ${error.message}`, {
          cause: error,
          ...definedOnly({ remedy: error.remedy }),
        });
  }

  find(digest: string): PackPlace | null {
    if (this.#known.size === 0) return null;
    for (const place of this.findAll(digest)) return place;
    return null;
  }

  /** Every pack that has it; one of them may be damaged. */
  *findAll(digest: string): Generator<PackPlace> {
    const wanted = Buffer.from(digest, 'hex');
    for (const [name, { index }] of this.#known) {
      const [first, end] = findHead(index, wanted);
      const place = first === end ? null : this.#findPlace(name, index, wanted);
      if (place !== null) yield place;
    }
  }

  /** Marks the pack as used again for gc; false when it is gone. */
  touch(name: string): boolean {
    try {
      const now = Date.now() / 1000;
      utimesSync(packFile(this.#layout, name), now, now);
      return true;
    } catch (cause) {
      if (isMissing(cause)) return false;
      throw accessError(packFile(this.#layout, name), cause);
    }
  }

  list(): ListedPack[] {
    return Array.from(this.#known, ([name, { file, index }]) => ({
      name,
      file,
      count: index.heads.length,
      blobs: { [Symbol.iterator]: () => this.#walk(name, index) },
    }));
  }

  /** What all packs hold now. Of one that goes meanwhile, what took its place is listed as well; a broken one is left out. */
  *listBlobs(): Generator<string> {
    const listed = new Set<string>();
    for (let isWhole = false; !isWhole;) {
      isWhole = true;
      this.refresh();
      for (const { name, blobs } of this.list().filter((pack) => !listed.has(pack.name))) {
        listed.add(name);
        try {
          for (const { digest } of blobs) yield digest;
        } catch (error) {
          if (isMissing(error)) isWhole = false;
          else throwUnlessProblem(error);
        }
      }
    }
  }

  /** Null also for a pack that is gone, or cannot be read any more: what it holds is unknown then. */
  #findPlace(name: string, index: PackIndex, wanted: Buffer): PackPlace | null {
    try {
      const { fd, file } = this.#open(name);
      try {
        const blob = findInIndex(fd, index, wanted);
        return blob === null ? null : { file, name, offset: blob.offset, size: blob.size };
      } finally {
        closeSync(fd);
      }
    } catch (cause) {
      if (!isMissing(cause)) this.#noteBroken(name, cause);
      return null;
    }
  }

  *#walk(name: string, index: PackIndex): Generator<PackedBlob> {
    const { fd, file } = this.#open(name);
    try {
      yield* walkIndex(fd, index);
    } catch (cause) {
      throw toPackError(file, name, cause);
    } finally {
      closeSync(fd);
    }
  }

  /** A collection moves a pack to the trash, and back when it was touched meanwhile. */
  #open(name: string): { readonly fd: number; readonly file: string } {
    const home = packFile(this.#layout, name);
    const doomed = join(this.#layout.trash, `${name}.pack`);
    for (const file of [home, doomed]) {
      try {
        return { fd: openPackFile(file), file };
      } catch (cause) {
        if (!isMissing(cause)) throw accessError(file, cause);
      }
    }
    return { fd: openPackFile(home), file: home };
  }

  #noteBroken(name: string, cause: unknown): void {
    const file = this.#known.get(name)?.file ?? name;
    this.#known.delete(name);
    this.#broken = [...this.#broken, { name, error: toPackError(file, name, cause) }];
  }
}

function listPackFiles(folder: string): string[] {
  return listNames(folder).filter((name) => name.endsWith('.pack'));
}

/** null: removed by a gc between listing and reading. */
function readIndexIfThere(file: string, name: string): PackIndex | BrokenPack['error'] | null {
  try {
    return readPackIndex(file, name);
  } catch (cause) {
    return isMissing(cause) ? null : toPackError(file, name, cause);
  }
}

function toPackError(file: string, name: string, cause: unknown): BrokenPack['error'] {
  if (cause instanceof StoreCorruptError || cause instanceof StoreAccessError) return cause;
  return cause instanceof RangeError
    ? new StoreCorruptError(name, file, cause.message)
    : accessError(file, cause);
}
