/**
 * Saves work while the user's git cleans up at the same time. Between writing an object and naming it by a ref nothing
 * reaches it, and a `git gc --prune=now` or `git repack -ad` at that moment drops it.
 *
 * Then everything is done again in our own store, which borrows from the user's and which no gc knows. The objects for
 * refs are copied in one pack that git itself keeps (`.keep`) until the refs name them.
 */
import { lstat, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import {
  createGit,
  findDiskTrouble,
  GitError,
  loosePath,
  statIfThere,
  writeFileAtomic,
} from '@caisson/ground';

import { updateRefs } from './custody.ts';
import { WorkspaceError } from './errors.ts';
import { readIfThere } from './locate-repository.ts';
import { listFolder } from './record.ts';
import { syncObjects } from './sync-objects.ts';

const MAX_TRIES = 8;
const FIRST_PAUSE_MS = 25;
const MAX_PACK_BYTES = 1024 * 1024 * 1024;
const KEPT_BECAUSE = 'caisson is about to name it by a ref';
/** No process takes this long from a pack to its refs. */
const LEFT_KEEP_MS = 60 * 60_000;

/** A written object is gone. */
class ObjectsGoneError extends WorkspaceError {}

/** Repeats `save` when objects vanished meanwhile; `beginAgain` gives it our own store and a clean start. */
export async function besideGc<T>(
  save: (isAgain: boolean) => Promise<T>,
  beginAgain: () => Promise<void>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await save(tries > 1);
    } catch (error) {
      if (tries === MAX_TRIES || !isObjectGone(error)) throw error;
      // What an earlier try left in the user's store is not written again as long as it is there, and may go any moment.
      await delay(FIRST_PAUSE_MS * 2 ** (tries - 1));
      await beginAgain();
    }
  }
}

/** What refs name is on disk before they are, and still there afterwards. The user's store has `known` for sure. */
export async function nameByRefs(
  { gitDir, custodyDir, known }: { gitDir: string; custodyDir: string; known: string | null },
  refs: ReadonlyMap<string, string>,
): Promise<void> {
  // A tree is compared with trees alone: the history of a commit excludes nothing of it.
  const [named, without] = [[...refs.values()], known === null ? [] : [known, `${known}^{tree}`]];
  const letRepack = await handOver(gitDir, named, without);
  const ids = letRepack === null ? await syncObjects(gitDir, named, without) : [];
  await updateRefs(custodyDir, refs);
  await demandObjects(gitDir, ids);
  await letRepack?.();
}

/** A host that was killed before its refs were written left a pack that git would never repack. */
export async function removeLeftKeeps(repository: string): Promise<void> {
  const folder = join(repository, 'objects/pack');
  const keeps = (await listFolder(folder)).filter((name) => name.endsWith('.keep'));
  for (const file of keeps.map((name) => join(folder, name))) {
    const found = statIfThere(file, 'itself');
    // A pipe would never end, and a device or a link leads anywhere: only a small file can be ours.
    const isLikeOurs = found?.isFile() === true && found.size <= KEPT_BECAUSE.length + 1;
    if (!isLikeOurs || Date.now() - found.mtimeMs <= LEFT_KEEP_MS) continue;
    if ((await readIfThere(file))?.trim() === KEPT_BECAUSE) await rm(file, { force: true });
  }
}

/** Throws when one of the objects is missing. */
async function demandObjects(gitDir: string, wanted: readonly string[]): Promise<void> {
  const objects = join(gitDir, 'objects');
  const ids = wanted.filter((id) => statIfThere(loosePath(objects, id), 'itself') === null); // it may be in a pack by now
  if (ids.length === 0) return;
  const git = createGit({ cwd: gitDir, gitDir });
  const looked = await git.text(['cat-file', '--batch-check=%(objectname)'], { stdin: ids.join('\n') });
  const missing = looked.split('\n').find((line) => line.endsWith(' missing'));
  if (missing !== undefined) throw new ObjectsGoneError(`git object ${missing}: it was dropped by a git gc`);
}

/**
 * If the git dir has its own store: copies what `named` have and `known` have not into the store that it borrows
 * from. Returns how to let git repack it, once refs name it; null without our own store.
 */
async function handOver(
  gitDir: string,
  named: readonly string[],
  known: readonly string[],
): Promise<(() => Promise<void>) | null> {
  if (await isShared(gitDir)) return null;
  const objectDir = (await readFile(join(gitDir, 'objects/info/alternates'), 'utf8')).trim();
  const revisions = [...named, '--not', ...known].map((line) => `${line}\n`).join('');
  const options = { timeoutMs: 600_000, maxOutputBytes: MAX_PACK_BYTES };
  const packed = await createGit({ cwd: gitDir, gitDir }).run(
    ['pack-objects', '--revs', '--stdout', '--quiet', '--delta-base-offset'],
    { stdin: revisions, ...options },
  );
  if (packed.stdout.readUInt32BE(8) === 0) return () => Promise.resolve();
  // Indexed in our own store: `git prune` removes the drafts of packs that it finds in the user's.
  const said = await createGit({ cwd: gitDir, gitDir }).text(['index-pack', '--stdin'], {
    stdin: packed.stdout,
    ...options,
  });
  const name = `pack-${said.split('\t')[1] ?? ''}`;
  const [from, to] = [join(gitDir, 'objects/pack', name), join(objectDir, 'pack', name)];
  await mkdir(dirname(to), { recursive: true });
  await writeFileAtomic(`${to}.keep`, `${KEPT_BECAUSE}\n`, { mode: 0o444 });
  await writeFileAtomic(`${to}.pack`, packed.stdout, { mode: 0o444 });
  await writeFileAtomic(`${to}.idx`, await readFile(`${from}.idx`), { mode: 0o444 }); // last: git goes by it
  return () => rm(`${to}.keep`, { force: true });
}

async function isShared(gitDir: string): Promise<boolean> {
  return (await lstat(join(gitDir, 'objects'))).isSymbolicLink();
}

/** Gives the git dir its own store, which borrows from the one that it shared. */
export async function takeOwnStore(gitDir: string): Promise<void> {
  if (!(await isShared(gitDir))) return;
  const objects = join(gitDir, 'objects');
  const own = `${objects}.own`;
  const shared = await realpath(objects);
  if (/^["#]|\n/.test(shared)) return; // a name that the list of alternates cannot contain: tried again as before
  await mkdir(join(own, 'pack'), { recursive: true });
  await mkdir(join(own, 'info'), { recursive: true });
  await writeFile(join(own, 'info/alternates'), `${shared}\n`);
  await rm(objects);
  await rename(own, objects);
}

/** Git names the missing object in many different messages; a folder of objects may vanish, too. */
function isObjectGone(error: unknown): boolean {
  if (error instanceof ObjectsGoneError) return true;
  if (!(error instanceof GitError) || findDiskTrouble(error.stderr) !== null) return false;
  return /\b[0-9a-f]{40}([0-9a-f]{24})?\b|\bobjects?\b|unable to create temporary file/.test(error.stderr);
}
