/**
 * A local store with a second copy of everything in a remote one.
 *
 * Only the local store decides: a put is durable once it is there, and only `restore` replaces damage there. If the
 * remote cannot be reached, that is a warning; it never costs a run its work. A blob that is not here (another machine
 * put it, or it was collected) is fetched, verified and kept.
 *
 * What the remote lacks is marked until it is sent: by the first put that reaches it again, or by `sendMissing`.
 */
import type { Readable } from 'node:stream';

import type { Clock } from '@caisson/ground';

import type {
  BlobRef,
  BlobSource,
  BundleManifest,
  BundleRef,
  GcOptions,
  GcReport,
  ListBlobsOptions,
  MaterialiseOptions,
  PutBundleOptions,
  Roots,
  Store,
} from './contract.ts';
import { forEachOf, withinMs } from '../platform/index.ts';
import { listFiles } from './bundle-manifest.ts';
import { BlobMissingError } from './errors.ts';
import type { LocalStore } from './local-store.ts';
import { Sender } from './sender.ts';
import { UnsentMarks, type Unsent } from './unsent-marks.ts';

/** After a failure the remote is not used for this long: a dead server must not slow down every put of a run. */
const REST_MS = 30_000;

export interface MirrorOptions {
  readonly local: LocalStore;
  readonly remote: Store;
  /** Folder that remembers what the remote lacks. */
  readonly marks: string;
  readonly clock: Pick<Clock, 'wallMs' | 'setTimer'>;
  /** Called once per failure and pause when the remote lacks something. */
  warn(message: string): void;
}

/** A store with a copy elsewhere. */
export interface MirroredStore extends Store {
  /** Replaces what is missing, damaged or unreadable here with the remote's copy; false when it has none. */
  restore(digest: string): Promise<boolean>;
  /** Sends everything that is here and not there; resolves with how many blobs that were. */
  sendMissing(): Promise<number>;
  /** Sends what is marked, by any process, unless the remote failed a moment ago. For a process that stays. */
  sendMarked(): Promise<void>;
  /** Waits until everything marked is sent, up to a limit; the rest stays marked for the next process. */
  settle(limitMs: number): Promise<void>;
}

/** Opens a store that keeps everything in `local` and a copy of it in `remote`. */
export function openMirroredStore(options: MirrorOptions): MirroredStore {
  return new LocalWithRemote(options);
}

class LocalWithRemote implements MirroredStore {
  readonly #local: LocalStore;
  readonly #remote: Store;
  readonly #options: MirrorOptions;
  readonly #sender: Sender;
  readonly #marks: UnsentMarks;
  readonly #stop = new AbortController();
  /** What a put of this process sends right now. */
  readonly #inHand = new Set<string>();
  #restsUntil = -Infinity;
  /** Whether there may be earlier marks. */
  #mayOwe = true;
  #paying: Promise<void> | null = null;

  constructor(options: MirrorOptions) {
    this.#local = options.local;
    this.#remote = options.remote;
    this.#sender = new Sender(options.local, options.remote);
    this.#marks = new UnsentMarks(options.marks);
    this.#options = options;
  }

  async putBlob(source: BlobSource): Promise<BlobRef> {
    const ref = await this.#local.putBlob(source);
    await this.#mirrorBlob(ref);
    return ref;
  }

  async putBlobs(contents: readonly Uint8Array[]): Promise<readonly BlobRef[]> {
    const refs = await this.#local.putBlobs(contents);
    await Promise.all(refs.map((ref) => this.#mirrorBlob(ref)));
    return refs;
  }

  async putBundle(folder: string, options: PutBundleOptions = {}): Promise<BundleRef> {
    const ref = await this.#local.putBundle(folder, options);
    await this.#mirror({ digest: ref.hash, kind: 'bundle' }, () => this.#sender.sendBundle(ref.hash));
    return ref;
  }

  getBlob(digest: string): Promise<Buffer> {
    return this.#orFetch(
      () => this.#local.getBlob(digest),
      () => this.#fetch(digest),
    );
  }

  openBlob(digest: string): Promise<Readable> {
    return this.#orFetch(
      () => this.#local.openBlob(digest),
      () => this.#fetch(digest),
    );
  }

  async hasBlob(digest: string): Promise<boolean> {
    return (await this.#local.hasBlob(digest)) || (await this.#remote.hasBlob(digest));
  }

  readManifest(hash: string): Promise<BundleManifest> {
    return this.#orFetch(
      () => this.#local.readManifest(hash),
      () => this.#fetch(hash),
    );
  }

  materialise(hash: string, target: string, options: MaterialiseOptions = {}): Promise<BundleRef> {
    return this.#orFetch(
      () => this.#local.materialise(hash, target, options),
      () => this.#fetchBundle(hash),
    );
  }

  /** Here only: the bucket may be shared with projects whose roots we do not know. */
  gc(roots: Iterable<string> | Roots, options: GcOptions): Promise<GcReport> {
    return this.#local.gc(roots, options);
  }

  listBlobs(options?: ListBlobsOptions): AsyncIterable<string> {
    return this.#local.listBlobs(options);
  }

  async restore(digest: string): Promise<boolean> {
    if (!(await this.#remote.hasBlob(digest))) return false;
    await this.#local.replaceBlob(digest, await this.#remote.openBlob(digest));
    return true;
  }

  async sendMissing(): Promise<number> {
    const there = new Set<string>();
    for await (const digest of this.#remote.listBlobs()) there.add(digest);
    // Marked before any is sent: a manifest in the remote promises that its files are there too, so a kill must not be
    // final.
    for await (const digest of this.#local.listBlobs())
      if (!there.has(digest)) this.#marks.add({ digest, kind: 'blob' });
    return await this.#pay();
  }

  async sendMarked(): Promise<void> {
    if (this.#isResting() || this.#stop.signal.aborted) return;
    this.#payInBackground();
    await this.#paying;
  }

  async settle(limitMs: number): Promise<void> {
    if (this.#paying !== null) await withinMs(this.#options.clock, limitMs, this.#paying);
    this.#stop.abort();
  }

  async #mirrorBlob(ref: BlobRef): Promise<void> {
    await this.#mirror({ digest: ref.digest, kind: 'blob' }, async () => void (await this.#sender.send(ref)));
  }

  async #mirror(unsent: Unsent, send: () => Promise<void>): Promise<void> {
    this.#marks.add(unsent);
    if (this.#isResting()) return;
    this.#inHand.add(unsent.digest);
    try {
      await send();
      this.#marks.remove(unsent);
      if (this.#mayOwe) this.#payInBackground();
    } catch (error) {
      this.#rest(`${unsent.digest} and what follows is kept on this machine only`, error);
    } finally {
      this.#inHand.delete(unsent.digest);
    }
  }

  #isResting(): boolean {
    return this.#options.clock.wallMs() < this.#restsUntil;
  }

  #rest(what: string, error: unknown): void {
    this.#mayOwe = true;
    if (this.#isResting()) return;
    this.#restsUntil = this.#options.clock.wallMs() + REST_MS;
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.warn(`${what}: ${reason}`);
  }

  #payInBackground(): void {
    this.#mayOwe = false;
    this.#paying ??= this.#pay()
      .then(() => undefined)
      .catch((error: unknown) => this.#rest('what the bucket lacks was not sent', error))
      .finally(() => (this.#paying = null));
  }

  /** Sends what is marked. What is no longer here was collected and is not needed. */
  async #pay(): Promise<number> {
    let sent = 0;
    const owed = this.#marks.list().filter(({ digest }) => !this.#inHand.has(digest));
    await forEachOf(owed, async (unsent) => {
      if (this.#stop.signal.aborted) return;
      const count = (await this.#local.hasBlob(unsent.digest)) ? await this.#sender.sendUnsent(unsent) : 0;
      sent += count; // not in one expression: others add to it during the wait
      this.#marks.remove(unsent);
    });
    return sent;
  }

  /** Only an absent blob is fetched; damage and unreadable files stay errors. */
  async #orFetch<T>(read: () => Promise<T>, fetch: () => Promise<void>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof BlobMissingError)) throw error;
      await fetch();
      return await read();
    }
  }

  async #fetch(digest: string): Promise<void> {
    await this.#local.putBlob(await this.#remote.openBlob(digest));
  }

  async #fetchBundle(hash: string): Promise<void> {
    const { entries } = await this.readManifest(hash);
    await forEachOf(listFiles(entries), async ({ digest }) => {
      if (!(await this.#local.hasBlob(digest))) await this.#fetch(digest);
    });
  }
}
