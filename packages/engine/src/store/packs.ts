import { utimesSync } from 'node:fs';
import { join } from 'node:path';

import { StoreCorruptError, type StoreAccessError } from './errors.ts';
import { accessError, isMissing, listNames, type LocalLayout } from './local-layout.ts';
import { findInIndex, walkIndex, readPackIndex, type PackedBlob } from './pack-format.ts';

export interface PackPlace {
  readonly file: string;
  readonly name: string;
  readonly offset: number;
  readonly size: number;
}

interface KnownPack {
  readonly file: string;
  readonly index: Buffer;
}

export interface ListedPack {
  readonly name: string;
  readonly file: string;
  /** May be walked through again and again. */
  readonly blobs: Iterable<PackedBlob>;
}

/** A pack whose index cannot be used: its content is unknown. */
interface BrokenPack {
  readonly name: string;
  readonly error: StoreCorruptError | StoreAccessError;
}

/** The packs of a store folder. Indexes are read once; `refresh` notices what others added or removed. */
export class Packs {
  readonly #layout: LocalLayout;
  #known = new Map<string, KnownPack>();
  #broken: readonly BrokenPack[] = [];

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
        if (Buffer.isBuffer(loaded)) known.set(name, { file: join(folder, file), index: loaded });
        else if (loaded !== null) broken.push({ name, error: loaded });
      }
    }
    this.#known = known;
    this.#broken = broken;
  }

  /** As of the last `refresh`. A blob that is found nowhere may be in one of these, and must not look absent. */
  listBroken(): readonly BrokenPack[] {
    return this.#broken;
  }

  find(digest: string): PackPlace | null {
    if (this.#known.size === 0) return null;
    for (const place of this.findAll(digest)) return place;
    return null;
  }

  /** Every pack that has it; one of them may be damaged. */
  *findAll(digest: string): Generator<PackPlace> {
    const wanted = Buffer.from(digest, 'hex');
    for (const [name, pack] of this.#known) {
      const place = findInIndex(pack.index, wanted);
      if (place !== null) yield { file: pack.file, name, ...place };
    }
  }

  /** Marks the pack as used again for gc; false when it is gone. */
  touch(name: string): boolean {
    try {
      const now = Date.now() / 1000;
      utimesSync(join(this.#layout.packs, `${name}.pack`), now, now);
      return true;
    } catch (cause) {
      if (isMissing(cause)) return false;
      throw accessError(join(this.#layout.packs, `${name}.pack`), cause);
    }
  }

  list(): ListedPack[] {
    return Array.from(this.#known, ([name, { file, index }]) => ({
      name,
      file,
      blobs: { [Symbol.iterator]: () => walkIndex(index) },
    }));
  }
}

function listPackFiles(folder: string): string[] {
  return listNames(folder).filter((name) => name.endsWith('.pack'));
}

/** null: removed by a gc between listing and reading. */
function readIndexIfThere(file: string, name: string): Buffer | BrokenPack['error'] | null {
  try {
    return readPackIndex(file, name);
  } catch (cause) {
    if (isMissing(cause)) return null;
    return cause instanceof StoreCorruptError ? cause : accessError(file, cause);
  }
}
