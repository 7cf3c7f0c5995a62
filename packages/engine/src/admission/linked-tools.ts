/**
 * What links in a folder of PATH lead to: `npm -g` and pipx put links into one, to packages elsewhere under HOME. A package
 * is shown whole, anything else alone: its folder may be a project of the user.
 */
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { readSmallFileSync, shareTurn, unlessErrno } from '@caisson/ground';
import type { ToolPlaces } from './tool-places.ts';

/** Places that the links of one folder may show. */
const MAX_LINKED = 64;
const MAX_CFG_BYTES = 16 * 1024;

export async function behindLinks(folder: string, places: ToolPlaces): Promise<string[]> {
  const entries = unlessErrno(
    () => readdirSync(folder, { withFileTypes: true }),
    [],
    ...(['ENOENT', 'ENOTDIR', 'EACCES'] as const),
  );
  const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name));
  const usable = await filterInTurns(links, (path) => isProgram(path) && places.isVisibleThrough(path));
  const programs = new Set(usable.map((path) => realpathSync.native(path))); // a manager may have a link for each of its tools
  const parts = new Set([...programs].flatMap((program) => installedParts(program, places)));
  return (await filterInTurns([...parts], places.isVisibleWhole)).slice(0, MAX_LINKED);
}

/** Each place takes several calls to the file system, and there may be hundreds. */
export async function filterInTurns<T>(items: readonly T[], keeps: (item: T) => boolean): Promise<T[]> {
  const kept: T[] = [];
  for (const item of items) {
    await shareTurn();
    if (keeps(item)) kept.push(item);
  }
  return kept;
}

/** The folder that a program needs: the outermost node_modules, else its own. */
export function packageFolder(path: string): string {
  const parts = path.split(sep);
  const index = parts.indexOf('node_modules');
  return index === -1 ? dirname(path) : parts.slice(0, index + 1).join(sep);
}

function isProgram(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && (stats.mode & 0o111) !== 0;
}

function installedParts(program: string, places: ToolPlaces): string[] {
  if (program.split(sep).includes('node_modules')) return [packageFolder(program)];
  const prefix = dirname(dirname(program));
  const cfg = places.isOfRepository(prefix) || existsSync(join(prefix, '.git')) ? null : readCfg(prefix);
  if (cfg === null) return [program];
  const python = /^home[ \t]*=[ \t]*(\/.*)\/bin[ \t]*$/m.exec(cfg)?.[1];
  return [prefix, ...(python === undefined ? [] : places.findPython(python))];
}

/** The file in which a virtual environment names its Python. */
function readCfg(prefix: string): string | null {
  return (
    unlessErrno(() => readSmallFileSync(join(prefix, 'pyvenv.cfg'), MAX_CFG_BYTES), null, 'EACCES')?.text ??
    null
  );
}
