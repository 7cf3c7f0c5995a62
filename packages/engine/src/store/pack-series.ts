import type { LocalLayout } from './local-layout.ts';
import { PackWriter } from './pack-writer.ts';

/** The index of a pack that is being written is in memory: some 300 bytes a blob. */
export const BLOBS_IN_PACK = 65_536;

/** As many packs as it takes for any number of blobs. Each is durable and visible once it is full, the last by `commit`. */
export class PackSeries {
  readonly #layout: LocalLayout;
  #writer: PackWriter;
  /** Of the packs that were written. */
  readonly names = new Set<string>();

  constructor(layout: LocalLayout) {
    this.#layout = layout;
    this.#writer = new PackWriter(layout);
  }

  /** Keeps the bytes; they must not be changed afterwards. */
  async add(digest: string, bytes: Uint8Array): Promise<void> {
    await this.#writer.add(digest, bytes);
    if (this.#writer.count >= BLOBS_IN_PACK) await this.commit();
  }

  async commit(): Promise<void> {
    if (this.#writer.count === 0) return;
    this.names.add(await this.#writer.commit());
    this.#writer = new PackWriter(this.#layout);
  }

  /** Safe to call at any time, also after `commit`. */
  abandon(): Promise<void> {
    return this.#writer.abandon();
  }
}
