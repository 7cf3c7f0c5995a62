import { join } from 'node:path';

import type { LocalBlobs } from './local-blobs.ts';
import { listNames } from './local-layout.ts';

/**
 * Every digest of which a store folder has something, for a collection: also what another one moves just now. A folder that
 * cannot be listed is left out; the collection names it when it comes to it.
 */
export function* listHeld({ layout, packs }: LocalBlobs): Generator<string> {
  yield* packs.listBlobs();
  for (const shard of listNames(layout.blobs))
    for (const rest of listReadable(join(layout.blobs, shard))) yield shard + rest;
  yield* listNames(layout.trash);
}

function listReadable(folder: string): string[] {
  try {
    return listNames(folder);
  } catch {
    return [];
  }
}
