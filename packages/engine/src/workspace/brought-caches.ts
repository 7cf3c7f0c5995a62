/** Caches in HOME that the tools of a project need without a network. Settings and log-ins lie beside them, and stay out. */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { IS_LINK, kindOf, type Kind } from './brought-places.ts';
import { PYTHONS, toolsOf } from './brought-tools.ts';
import type { PreparedWorkspace } from './contract.ts';

export type Brought = NonNullable<PreparedWorkspace['brought']>;

export interface FoundCaches {
  /** Relative to HOME. */
  readonly caches: readonly string[];
  readonly warnings: readonly string[];
}

/** `folders` are those of the project that are brought, as absolute paths. */
export function findCachesOf(
  manifests: readonly string[],
  folders: readonly string[],
  home: string,
): FoundCaches {
  const root = realHome(home);
  const wanted = new Set([
    ...manifests.flatMap((path) => toolsOf(path).flatMap(({ caches = [] }) => caches)),
    ...pythonsOf(folders, home),
  ]);
  const ofKind = (kind: Kind): string[] => [...wanted].filter((path) => kindOf(root, path) === kind);
  const found = ofKind('folder');
  const withPasswords = found.filter((path) => hasPasswords(join(root, path)));
  return {
    caches: found.filter((path) => !withPasswords.includes(path)),
    warnings: [
      ...ofKind('link').map((path) => `~/${path} ${IS_LINK}, and was not brought`),
      ...withPasswords.map(
        (path) =>
          `~/${path} has addresses with passwords, and was not brought: cargo vendor works without it`,
      ),
    ],
  };
}

export function placeCaches(caches: readonly string[], home: string): Brought {
  return caches.map((path) => ({
    path: `~/${path}`,
    source: join(realHome(home), path),
    target: join(home, path),
  }));
}

/** HOME itself may be a link. */
const realHome = (home: string): string => (existsSync(home) ? realpathSync.native(home) : home);

/** A virtual environment names the Python it was made with; only known places count. */
function pythonsOf(folders: readonly string[], home: string): string[] {
  const homes = [home, realHome(home)];
  const bases = folders.map(
    (folder) => /^home\s*=\s*(.+?)\s*$/m.exec(readText(join(folder, 'pyvenv.cfg')))?.[1],
  );
  return PYTHONS.filter((path) =>
    bases.some((base) => homes.some((each) => base?.startsWith(`${join(each, path)}/`) === true)),
  );
}

/** Repositories that a tool fetched remember where from, with the password if the address had one. */
function hasPasswords(cache: string): boolean {
  if (!cache.endsWith('/git/db')) return false;
  return readdirSync(cache).some((name) =>
    ['FETCH_HEAD', 'config'].some((file) => /:\/\/[^/\s]*@/.test(readText(join(cache, name, file)))),
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
