/**
 * Saves work while the user's git cleans up beside it. Between writing an object and naming it by a ref nothing reaches
 * it, and a `git gc --prune=now` or `git repack -ad` at that moment drops it.
 *
 * Then everything is done again in a store of our own, which borrows from the user's and which no gc knows. What refs
 * are to name goes over in one pack that git itself keeps (`.keep`) until they do.
 */
import { lstat, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createGit, forgetStaged, GitError } from '@caisson/ground';

import type { PreparedWorkspace } from './contract.ts';
import { WorkspaceError } from './errors.ts';
import { syncIfThere } from './sync-objects.ts';

const MAX_TRIES = 4;
const MAX_PACK_BYTES = 1024 * 1024 * 1024;
const KEPT_BECAUSE = 'caisson is about to name it by a ref';

/** An object that was written is not there any more. */
class ObjectsGoneError extends WorkspaceError {}

/** Does `save` again when objects vanished under it. */
export async function besideGc<T>(
  prepared: PreparedWorkspace,
  save: (isAgain: boolean) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await save(tries > 1);
    } catch (error) {
      if (tries === MAX_TRIES || !isObjectGone(error)) throw error;
      await takeOwnStore(prepared.gitDir);
      await forgetStaged({ ...prepared, workspace: prepared.path });
    }
  }
}

/** Throws when one of the objects is not there. */
export async function demandObjects(gitDir: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const git = createGit({ cwd: gitDir, gitDir });
  const looked = await git.text(['cat-file', '--batch-check=%(objectname)'], { stdin: ids.join('\n') });
  const missing = looked.split('\n').find((line) => line.endsWith(' missing'));
  if (missing !== undefined) throw new ObjectsGoneError(`git object ${missing}: it was dropped by a git gc`);
}

/**
 * Where the git dir has a store of its own: puts what `commits` have and `known` have not into the store that it borrows
 * from. Returns how to let git repack it, once refs name it; null where there is no store of our own.
 */
export async function handOver(
  gitDir: string,
  commits: readonly string[],
  known: readonly string[],
): Promise<(() => Promise<void>) | null> {
  if (await isShared(gitDir)) return null;
  const objectDir = (await readFile(join(gitDir, 'objects/info/alternates'), 'utf8')).trim();
  const revisions = [...commits, '--not', ...known].map((line) => `${line}\n`).join('');
  const options = { timeoutMs: 600_000, maxOutputBytes: MAX_PACK_BYTES };
  const packed = await createGit({ cwd: gitDir, gitDir }).run(
    ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'],
    { stdin: revisions, ...options },
  );
  if (packed.stdout.readUInt32BE(8) === 0) return () => Promise.resolve();
  const writer = createGit({ cwd: gitDir, gitDir, objectDir });
  const said = await writer.text(['index-pack', '--stdin', `--keep=${KEPT_BECAUSE}`], {
    stdin: packed.stdout,
    ...options,
  });
  await syncIfThere(join(objectDir, 'pack'));
  const [, id = ''] = said.split('\t');
  return () => rm(join(objectDir, 'pack', `pack-${id}.keep`), { force: true });
}

async function isShared(gitDir: string): Promise<boolean> {
  return (await lstat(join(gitDir, 'objects'))).isSymbolicLink();
}

async function takeOwnStore(gitDir: string): Promise<void> {
  if (!(await isShared(gitDir))) return;
  const objects = join(gitDir, 'objects');
  const own = `${objects}.own`;
  const shared = await realpath(objects);
  if (/^["#]|\n/.test(shared)) return; // a name that the list of alternates cannot hold: tried again as before
  await mkdir(join(own, 'pack'), { recursive: true });
  await mkdir(join(own, 'info'), { recursive: true });
  await writeFile(join(own, 'info/alternates'), `${shared}\n`);
  await rm(objects);
  await rename(own, objects);
}

/** Git names the object that it misses, in many different sentences; a folder of objects may vanish, too. */
function isObjectGone(error: unknown): boolean {
  if (error instanceof ObjectsGoneError) return true;
  if (!(error instanceof GitError)) return false;
  return /\b[0-9a-f]{40}([0-9a-f]{24})?\b|\bobjects?\b|unable to create temporary file/.test(error.stderr);
}
