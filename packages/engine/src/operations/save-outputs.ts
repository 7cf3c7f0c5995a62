/**
 * Copies what a run left in `outputs/` to a folder of the user: all of it or nothing.
 * O1  No file is replaced, and no link of the project is followed.
 * O2  It is an exit as the patch is: what another program would obey by itself does not pass, and neither does what makes
 *     the folder a repository, whose settings git obeys.
 */
import { createWriteStream, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, normalize, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { findStats, leavesFolder, riskOfName } from '@caisson/ground';
import { CaissonError, type OutputFile } from '@caisson/protocol';
import { readResult } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { requireRemembered } from './run-forgotten.ts';

/** The outputs cannot be put there. */
export class OutputsRefusedError extends CaissonError {
  readonly code = 'OUTPUTS_REFUSED';
}

const ROOT = 'outputs';

/** Returns the paths that were written, relative to the folder. */
export async function saveOutputs(engine: Engine, runId: string, to: string): Promise<readonly string[]> {
  requireRemembered(engine, runId);
  const result = await readResult(engine.rooms, runId);
  const folder = resolve(to);
  requireNoLink(folder, engine.config.projectRoot);
  requireFolder(folder);
  const plan = (result?.outputs ?? []).map((output) => ({ output, path: pathOf(output) }));
  for (const { path } of plan) requireFree(folder, path);
  requireHarmless(
    folder,
    plan.map(({ path }) => path),
  );
  const written: string[] = [];
  try {
    for (const { output, path } of plan) {
      const target = join(folder, path);
      mkdirSync(dirname(target), { recursive: true });
      const content = await engine.store.openBlob(output.ref);
      const file = createWriteStream(target, { flags: 'wx' });
      file.once('open', () => written.push(path));
      await pipeline(content, file);
    }
  } catch (error) {
    for (const path of written) rmSync(join(folder, path), { force: true });
    throw error;
  }
  return written;
}

/** The names are the agent's. */
function pathOf({ path }: OutputFile): string {
  const inside = relative(ROOT, normalize(path));
  if (inside !== '' && !leavesFolder(inside) && !inside.includes('\0')) return inside;
  throw new OutputsRefusedError(`the output ${JSON.stringify(path)} has a path outside of ${ROOT}/`);
}

/** O1. A commit may bring a link along that has the name of an ordinary folder. */
function requireNoLink(folder: string, projectRoot: string): void {
  const inside = relative(projectRoot, folder);
  const places = leavesFolder(inside)
    ? ['']
    : inside.split('/').map((_, at, all) =>
        all
          .slice(at + 1)
          .map(() => '..')
          .join('/'),
      );
  for (const place of places.map((up) => resolve(folder, up)))
    if (findStats(place)?.isSymbolicLink() === true)
      throw new OutputsRefusedError(`${place} is a link, and outputs go through none`, {
        remedy: 'Name a folder of your own with --to.',
      });
}

/** O2 */
function requireHarmless(folder: string, paths: readonly string[]): void {
  for (const path of paths) {
    const risk = riskOfName(path);
    if (risk !== null) throw refuseRisky(path, risk.why);
    const parent = dirname(join(folder, path));
    if (GIT_PARTS.has(path.split('/').at(-1) ?? '') && wouldBeGitDir(folder, paths, relative(folder, parent)))
      throw refuseRisky(path, 'would make its folder a git repository, whose settings git obeys');
  }
}

const GIT_PARTS = new Set(['HEAD', 'commondir', 'config']);

/** As git recognises one, with what is there already. */
function wouldBeGitDir(folder: string, paths: readonly string[], below: string): boolean {
  const prefix = below === '' ? '' : `${below}/`;
  const planned = paths
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length).split('/')[0] ?? '');
  const there =
    findStats(join(folder, below))?.isDirectory() === true ? readdirSync(join(folder, below)) : [];
  const names = new Set([...planned, ...there]);
  return names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')));
}

function refuseRisky(path: string, why: string): OutputsRefusedError {
  return new OutputsRefusedError(`the output ${path} ${why}; nothing was copied`, {
    remedy: 'caisson show -o json names the blob of each output, if you want to look at it.',
  });
}

/** O1 */
function requireFolder(folder: string): void {
  if (findStats(folder)?.isDirectory() === false)
    throw new OutputsRefusedError(`${folder} is there already, and is no folder`, {
      remedy: 'Name an empty or a new folder with --to.',
    });
}

/** O1 */
function requireFree(folder: string, path: string): void {
  const parts = path.split('/');
  for (const [index] of parts.entries()) {
    const place = join(folder, ...parts.slice(0, index + 1));
    const stats = findStats(place);
    if (stats === null) return;
    if (index < parts.length - 1 && stats.isDirectory()) continue;
    throw new OutputsRefusedError(`${place} exists already, and nothing is replaced`, {
      remedy: 'Name an empty or a new folder with --to.',
    });
  }
}
