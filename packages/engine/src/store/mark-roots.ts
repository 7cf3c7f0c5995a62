import { looksLikeManifest, MAX_MANIFEST_BYTES, parseManifest } from './bundle-manifest.ts';
import { refuseInvalidDigest } from './digest.ts';

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
}

/**
 * Every digest that the roots reach. A damaged root stops the gc, be it a manifest or not: damage could be what
 * makes a manifest look like a plain blob, and then everything it reaches would be collected.
 */
export async function markRoots(reader: RootReader, roots: Iterable<string>): Promise<Marked> {
  const live = new Set<string>();
  const missing = new Set<string>();
  for (const root of new Set(roots)) {
    refuseInvalidDigest(root);
    const size = await reader.findSize(root);
    if (size === null) {
      missing.add(root);
      continue;
    }
    live.add(root);
    if (size > MAX_MANIFEST_BYTES) continue;
    for (const digest of listReached(await reader.read(root))) {
      if (!live.has(digest) && (await reader.findSize(digest)) === null) missing.add(digest);
      live.add(digest);
    }
  }
  return { live, missing: [...missing].toSorted() };
}

/** Anybody may store bytes that begin like a manifest; only a real one reaches anything. */
function listReached(bytes: Buffer): string[] {
  if (!looksLikeManifest(bytes)) return [];
  try {
    return parseManifest(bytes).entries.flatMap((entry) => (entry.kind === 'file' ? [entry.digest] : []));
  } catch {
    return []; // verified bytes that are not a manifest are a plain blob
  }
}
