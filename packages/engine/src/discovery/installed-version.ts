import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A program is at most this deep in its package. */
const MAX_PARENTS = 6;

/**
 * The version that the package of an installed program names; null if it is in none. Nothing is started, so it can be
 * read before every run.
 */
export function findInstalledVersion(path: string, bins: readonly string[]): string | null {
  let folder = dirname(realpathSync(path));
  for (let parents = 0; parents < MAX_PARENTS && folder !== dirname(folder); parents += 1) {
    const version = versionIn(join(folder, 'package.json'), bins);
    if (version !== null) return version;
    folder = dirname(folder);
  }
  return null;
}

/** Only of a package that brings the program: other packages contain it, too. */
function versionIn(file: string, bins: readonly string[]): string | null {
  try {
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown; bin?: unknown };
    const brings = typeof manifest.bin === 'object' && manifest.bin !== null ? manifest.bin : {};
    const isIts = bins.some((name) => Object.hasOwn(brings, name));
    return isIts && typeof manifest.version === 'string' ? manifest.version : null;
  } catch {
    return null; // not there, or not a manifest: the program is not an npm package
  }
}
