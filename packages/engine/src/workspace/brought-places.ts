import { lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

export type Kind = 'folder' | 'file' | 'link';

export const IS_LINK = 'is a link, or is behind one';

/** No link is followed: neither one in the last place, nor one on the way. `null` if nothing usable is there. */
export function kindOf(root: string, path: string): Kind | null {
  const place = join(root, path);
  try {
    const stats = lstatSync(place);
    if (stats.isSymbolicLink() || realpathSync.native(place) !== place) return 'link';
    return stats.isDirectory() ? 'folder' : stats.isFile() ? 'file' : null;
  } catch {
    return null;
  }
}
