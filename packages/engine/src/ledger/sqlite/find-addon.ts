import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AddonMissingError } from '../errors.ts';

let known: string | undefined;

/**
 * The file with SQLite itself. The library would find it too, but asks Node for a whole diagnostic report to learn
 * which C library there is (2 ms of every start), and searches beside its own files, which are in our bundle. Trying is
 * faster: a build for another C library does not load.
 */
export function findAddon(): string {
  return (known ??= findLoading(dirname(require.resolve('better-sqlite3/package.json'))));
}

const require = createRequire(import.meta.url);

/** The first build in the library's folder that this Node can load. */
export function findLoading(folder: string): string {
  const builds = [`prebuilds/linux-${process.arch}`, `prebuilds/linuxmusl-${process.arch}`];
  const files = [...builds, 'build/Release/better_sqlite3'].map((name) => join(folder, `${name}.node`));
  let reason: unknown = new Error(`there is none for ${process.arch}`);
  for (const file of files.filter((path) => existsSync(path))) {
    try {
      require(file);
      return file;
    } catch (error) {
      reason = error;
    }
  }
  throw new AddonMissingError(folder, reason as Error);
}
