import { shareTurn } from '@caisson/ground';

import { looksLikeManifest, MAX_MANIFEST_BYTES, parseManifest } from './bundle-manifest.ts';
import type { BlobProblem, Digests, GcOptions, Roots } from './contract.ts';
import { DigestSet } from './digest-set.ts';
import { toProblem } from './inspect-blob.ts';

/** What gc needs to follow a root. */
export interface RootReader {
  /** Digests of what the store holds, in any order, and perhaps names of other things. */
  list(): Iterable<string> | AsyncIterable<string>;
  /** null when the store does not hold the blob. */
  findSize(digest: string): Promise<number | null>;
  /** Verified. */
  read(digest: string): Promise<Buffer>;
}

export interface Marked {
  readonly live: Digests;
  readonly missing: readonly string[];
  readonly problems: readonly BlobProblem[];
  /** False when a damaged root may reach more than is in `live`: then nothing may be removed. */
  readonly isComplete: boolean;
}

/**
 * Every digest that the roots reach. What a damaged root reaches is unknown if it may be a bundle: damage could be what
 * makes a manifest look like a plain blob.
 *
 * Most roots of an old ledger are of no blob: only what the store lists is read, and what it did not list is looked for by
 * its name if it is needed, because others put and move blobs meanwhile.
 */
export async function markRoots(
  reader: RootReader,
  roots: Iterable<string> | Roots,
  options: Pick<GcOptions, 'bundles' | 'needed' | 'signal'> = {},
): Promise<Marked> {
  const given = 'has' in roots ? roots : new DigestSet(roots);
  const marking = new Marking(reader, options);
  for await (const digest of reader.list()) {
    await shareTurn(options.signal);
    if (given.has(digest)) await marking.follow(digest);
  }
  let count = 0;
  for (const root of given) {
    count += 1;
    if (count % ROOTS_IN_TURN === 0) await shareTurn(options.signal);
    if (marking.isNeeded(root)) await marking.follow(root);
  }
  const { reached, missing, problems, isComplete } = marking;
  const live = { has: (digest: string) => given.has(digest) || reached.has(digest) };
  return { live, missing: [...missing].toSorted(), problems, isComplete };
}

/** So many are less than a millisecond. */
const ROOTS_IN_TURN = 256;

class Marking {
  readonly #reader: RootReader;
  readonly #options: Pick<GcOptions, 'bundles' | 'needed'>;
  readonly reached = new DigestSet();
  readonly missing = new Set<string>();
  /** One for each root, however often it is found. */
  readonly #problems = new Map<string, BlobProblem>();
  isComplete = true;

  constructor(reader: RootReader, options: Pick<GcOptions, 'bundles' | 'needed'>) {
    this.#reader = reader;
    this.#options = options;
  }

  get problems(): readonly BlobProblem[] {
    return [...this.#problems.values()];
  }

  isNeeded(digest: string): boolean {
    const { needed } = this.#options;
    return needed === undefined || needed.has(digest);
  }

  async follow(root: string): Promise<void> {
    const { bundles } = this.#options;
    try {
      const size = await this.#reader.findSize(root);
      if (size === null && this.isNeeded(root)) this.missing.add(root);
      if (size === null || size > MAX_MANIFEST_BYTES) return;
      for (const digest of listReached(await this.#reader.read(root))) {
        this.reached.add(digest);
        if (this.isNeeded(digest) && (await this.#reader.findSize(digest)) === null) this.missing.add(digest);
      }
    } catch (error) {
      this.#problems.set(root, toProblem(root, error));
      this.isComplete &&= bundles !== undefined && !bundles.has(root);
    }
  }
}

/** Anyone may store bytes that begin like a manifest; only a real one reaches anything. */
function listReached(bytes: Buffer): string[] {
  if (!looksLikeManifest(bytes)) return [];
  try {
    return parseManifest(bytes).entries.flatMap((entry) => (entry.kind === 'file' ? [entry.digest] : []));
  } catch {
    return []; // verified bytes that are not a manifest are a plain blob
  }
}
