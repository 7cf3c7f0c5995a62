import { forEachOf } from '../platform/index.ts';
import { listFiles } from './bundle-manifest.ts';
import type { BlobRef, Store } from './contract.ts';
import type { Unsent } from './unsent-marks.ts';

/** Larger ones are sent as a stream. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

/** Sends from one store to another what the other lacks. */
export class Sender {
  readonly #local: Store;
  readonly #remote: Store;

  constructor(local: Store, remote: Store) {
    this.#local = local;
    this.#remote = remote;
  }

  /** The manifest is no proof here: it may have been sent alone. */
  async sendUnsent({ digest, kind }: Unsent): Promise<number> {
    let sent = 0;
    const files = kind === 'blob' ? [] : listFiles((await this.#local.readManifest(digest)).entries);
    await forEachOf(files, async (file) => {
      if (await this.send(file)) sent += 1;
    });
    if (await this.#remote.hasBlob(digest)) return sent;
    await this.#remote.putBlob(await this.#local.openBlob(digest));
    return sent + 1;
  }

  /** False when it was there already. */
  async send({ digest, size }: BlobRef): Promise<boolean> {
    if (await this.#remote.hasBlob(digest)) return false;
    const isSmall = size <= MAX_BUFFERED_BYTES;
    await this.#remote.putBlob(await (isSmall ? this.#local.getBlob(digest) : this.#local.openBlob(digest)));
    return true;
  }

  /** The manifest goes last: a bundle whose manifest is there is there as a whole. */
  async sendBundle(hash: string): Promise<void> {
    if (await this.#remote.hasBlob(hash)) return;
    const { entries } = await this.#local.readManifest(hash);
    await forEachOf(listFiles(entries), async (file) => void (await this.send(file)));
    await this.#remote.putBlob(await this.#local.getBlob(hash));
  }
}
