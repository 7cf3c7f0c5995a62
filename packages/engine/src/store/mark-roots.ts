import { looksLikeManifest, MAX_MANIFEST_BYTES, parseManifest } from './bundle-manifest.ts';
import type { BlobProblem } from './contract.ts';
import { refuseInvalidDigest } from './digest.ts';
import { toProblem } from './inspect-blob.ts';

/** What gc needs to follow a root. */
export interface RootReader {
  /** null when the store does not hold the blob. */
  findSize(digest: string): Promise<number | null>;
  /** Verified. */
  read(digest: string): Promise<Buffer>;
}

export interface Marked {
  readonly live: ReadonlySet<string>;
  readonly missing: readonly string[];
  readonly problems: readonly BlobProblem[];
  /** False when a damaged root may reach more than is in `live`: then nothing may be removed. */
  readonly isComplete: boolean;
}

/**
 * Every digest that the roots reach. What a damaged root reaches is unknown if it may be a bundle: damage could be what
 * makes a manifest look like a plain blob.
 */
export async function markRoots(
  reader: RootReader,
  roots: Iterable<string>,
  bundles?: ReadonlySet<string>,
): Promise<Marked> {
  const live = new Set<string>();
  const missing = new Set<string>();
  const problems: BlobProblem[] = [];
  let isComplete = true;
  for (const root of new Set(roots)) {
    refuseInvalidDigest(root);
    live.add(root);
    try {
      const size = await reader.findSize(root);
      if (size === null) missing.add(root);
      if (size === null || size > MAX_MANIFEST_BYTES) continue;
      for (const digest of listReached(await reader.read(root))) {
        live.add(digest);
        if ((await reader.findSize(digest)) === null) missing.add(digest);
      }
    } catch (error) {
      problems.push(toProblem(root, error));
      isComplete &&= bundles !== undefined && !bundles.has(root);
    }
  }
  return { live, missing: [...missing].toSorted(), problems, isComplete };
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
