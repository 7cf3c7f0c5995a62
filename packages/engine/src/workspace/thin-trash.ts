/**
 * What is in the trash is what nothing else has.
 *
 * T1  A file that the saved tree has, byte for byte, is not kept a second time: each is compared with our index, whose tree
 *     must be the saved one. In any doubt it stays.
 * T2  It may be stopped at any moment, and done again: our git dir, which says what is saved, goes last.
 */
import {
  type BigIntStats,
  type Dirent,
  lstatSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createGit,
  findIndexTree,
  type Git,
  isAsIndexed,
  readIndexedFiles,
  removeTree,
  statIfThere,
  unlessErrno,
} from '@caisson/ground';
import { readSavedTree, SAVED_TREE_FILE } from './checkpoint.ts';
import { listUnchangedIncluded } from './included-memory.ts';
import { listFolder } from './record.ts';
import { MARK_FILE } from './trash-contract.ts';
import { parentOf, pathIn } from './work-file.ts';

/** Everything else that an attempt's folder has was made for it, or is saved. */
const KEPT = [MARK_FILE, SAVED_TREE_FILE, 'files', 'agent-git'];

/** Thins the folder of saved work; false when nothing is left that would be worth keeping. */
export async function thinTrashed(path: string): Promise<boolean> {
  const [gitDir, files] = [join(path, 'git'), join(path, 'files')];
  if (statIfThere(gitDir, 'itself') === null) return true; // it was done before
  if (statIfThere(files, 'itself')?.isDirectory() === true) {
    const isOwn = createFolderCheck(Buffer.from(realpathSync(files)));
    await removeSaved(path, gitDir, files, isOwn);
    for (const name of await listUnchangedIncluded({ attemptDir: path, path: files, gitDir }))
      if (isOwn(parentOf(Buffer.from(name)))) await removeTree(join(files, name));
    // Without a sandbox it is a file of ours that leads to the agent's git dir.
    if (statIfThere(join(files, '.git'), 'itself')?.isFile() === true) unlinkSync(join(files, '.git'));
    removeEmptyFolders(Buffer.from(files));
  }
  if (!hasOwnObjects(join(path, 'agent-git'))) await removeTree(join(path, 'agent-git'));
  for (const name of await listFolder(path))
    if (!KEPT.includes(name) && name !== 'git') await removeTree(join(path, name));
  await removeTree(gitDir);
  return ['files', 'agent-git'].some((name) => statIfThere(join(path, name), 'itself') !== null);
}

/** T1 */
async function removeSaved(
  path: string,
  gitDir: string,
  files: string,
  isOwn: (folder: Buffer) => boolean,
): Promise<void> {
  const saved = readSavedTree(path);
  if (saved === null) return;
  const git = createGit({ cwd: files, gitDir, workTree: files, timeoutMs: 600_000 });
  const tree = (await findIndexTree(join(gitDir, 'index'), saved)) ?? (await git.text(['write-tree']));
  if (tree !== saved) return;
  const names = (await listUntouched(gitDir, files, saved)) ?? (await listUnchanged(git));
  for (const name of names) {
    const file = Buffer.from(name, 'latin1');
    if (isOwn(parentOf(file)))
      unlessErrno(() => unlinkSync(pathIn(files, file)), undefined, 'ENOENT', 'EISDIR');
  }
}

const SUBMODULE = 0o160000;

/** Names (bytes in Latin-1) if no file was touched since the index was written; null if git has to compare contents. */
async function listUntouched(gitDir: string, files: string, like: string): Promise<string[] | null> {
  const indexFile = join(gitDir, 'index');
  const { mtimeNs: writtenAtNs } = statSync(indexFile, { bigint: true });
  const entries = readIndexedFiles(await readFile(indexFile), like.length / 2, null);
  const names: string[] = [];
  for (const [name, entry] of entries) {
    if (entry.mode === SUBMODULE) continue;
    const look = (): BigIntStats => lstatSync(pathIn(files, Buffer.from(name, 'latin1')), { bigint: true });
    const stats = unlessErrno(look, null, 'ENOENT', 'ENOTDIR');
    if (stats === null) continue;
    if (stats.ctimeNs !== entry.changedAtNs || !isAsIndexed(stats, entry, writtenAtNs)) return null;
    names.push(name);
  }
  return names;
}

/** What `git ls-files` finds to have the content in the index. */
async function listUnchanged(git: Git): Promise<string[]> {
  const { stdout } = await git.run(['ls-files', '-z', '-t', '-s', '-m']);
  const entries = stdout.toString('latin1').split('\0').filter(Boolean).map(parseEntry);
  const changed = new Set(entries.filter(({ isChanged }) => isChanged).map(({ name }) => name));
  return entries
    .filter(({ name, isSubmodule }) => !isSubmodule && !changed.has(name))
    .map(({ name }) => name);
}

interface Entry {
  /** Bytes in Latin-1. */
  readonly name: string;
  readonly isChanged: boolean;
  readonly isSubmodule: boolean;
}

/** `H 100644 ID 0<tab>NAME`, and once more with `C` for a file that differs. */
function parseEntry(line: string): Entry {
  const at = line.indexOf('\t');
  const [tag = '', mode = ''] = line.slice(0, at).split(' ');
  return { name: line.slice(at + 1), isChanged: tag === 'C', isSubmodule: mode === '160000' };
}

/** Whether a folder below the root is reached through no link. */
function createFolderCheck(root: Buffer): (folder: Buffer) => boolean {
  const known = new Map<string, boolean>();
  return (folder) => {
    const key = folder.toString('latin1');
    const place = folder.length === 0 ? root : Buffer.concat([root, Buffer.from('/'), folder]);
    const isOwn = known.get(key) ?? isReal(place);
    known.set(key, isOwn);
    return isOwn;
  };
}

function isReal(place: Buffer): boolean {
  const real = unlessErrno(() => realpathSync(place, { encoding: 'buffer' }), null, 'ENOENT', 'ENOTDIR');
  return real?.equals(place) === true;
}

/** True if the folder itself is gone, too. What the agent made unreadable stays. */
function removeEmptyFolders(folder: Buffer): boolean {
  const list = (): Dirent<Buffer>[] => readdirSync(folder, { withFileTypes: true, encoding: 'buffer' });
  const entries = unlessErrno(list, null, 'EACCES', 'ENAMETOOLONG');
  if (entries === null) return false;
  const left = entries.filter(
    (entry) =>
      !entry.isDirectory() || !removeEmptyFolders(Buffer.concat([folder, Buffer.from('/'), entry.name])),
  );
  if (left.length > 0) return false;
  return unlessErrno(() => (rmdirSync(folder), true), false, 'EACCES');
}

/** Objects that the agent wrote itself: a commit that it dropped again may be wanted. */
function hasOwnObjects(agentGit: string): boolean {
  const objects = join(agentGit, 'objects');
  const folders = unlessErrno(() => readdirSync(objects), [], 'ENOENT', 'ENOTDIR');
  return folders.some(
    (name) => /^([0-9a-f]{2}|pack)$/.test(name) && readdirSync(join(objects, name)).length > 0,
  );
}
