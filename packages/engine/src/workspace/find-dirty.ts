/**
 * Which files have changes that their repository does not know: their content differs from HEAD. Only names and git's
 * own index are read; where git converts contents, no filter is run to find out.
 */
import { lstat, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import {
  isAsIndexed,
  isErrno,
  readIndexedFiles,
  readIndexSummary,
  type IndexedFile,
  type ObjectFormat,
} from '@caisson/ground';

import { custodyGit } from './custody.ts';
import { readIndexFile } from './index-file.ts';
import { findRepository, findTop, type Repository, type UserFolders } from './locate-repository.ts';
import { convertsContents } from './seed-index.ts';
import { blobIdOf, idOfBlob, lstatIfThere, parentOf, pathIn } from './work-file.ts';

/** Those of `paths` (relative to `root`) that exist and differ from what their own repository has committed. */
export async function findUncommitted(
  root: string,
  paths: readonly Buffer[],
  user: UserFolders,
): Promise<Buffer[]> {
  const tops = new Map<string, string | null>();
  const byTop = new Map<string | null, Buffer[]>();
  for (const path of paths) {
    const folder = pathIn(root, parentOf(path)).toString('utf8');
    if (!tops.has(folder)) tops.set(folder, await findTop(folder));
    const top = tops.get(folder) ?? null;
    byTop.set(top, [...(byTop.get(top) ?? []), path]);
  }
  const changed: Buffer[] = [];
  for (const [top, group] of byTop) {
    const repository = top === null ? null : await findRepository(top, user);
    changed.push(...(repository === null ? group : await findChanged(repository, root, group, user)));
  }
  return changed;
}

async function findChanged(
  repository: Repository,
  root: string,
  paths: readonly Buffer[],
  user: UserFolders,
): Promise<Buffer[]> {
  // A submodule's files are relative to its own top.
  const offset = Buffer.byteLength(
    repository.top === root ? '' : `${repository.top.slice(root.length + 1)}/`,
  );
  const named = paths.map((path) => ({ path, key: path.subarray(offset).toString('latin1') }));
  const committed = await readCommitted(repository);
  const index = await openConvertingIndex(repository, user);
  const files = index?.read(new Set(named.map(({ key }) => key)));
  const changed: Buffer[] = [];
  for (const { path, key } of named) {
    const wanted = committed.get(key) ?? null;
    const present = await blobIdOf(root, path, repository.objectFormat);
    if (present === wanted && wanted !== null) continue;
    const known = { entry: files?.get(key), writtenAtNs: index?.writtenAtNs ?? 0n };
    const isSame =
      wanted !== null &&
      index !== null &&
      (await isConvertedFrom(pathIn(root, path), wanted, repository.objectFormat, known));
    if (!isSame) changed.push(path);
  }
  return changed;
}

/** Path, as bytes in Latin-1, to blob. */
async function readCommitted(repository: Repository): Promise<Map<string, string>> {
  if (repository.headCommit === null) return new Map();
  const git = custodyGit(repository.gitDir);
  const { stdout } = await git.run(['ls-tree', '-r', '-z', '--full-tree', repository.headCommit]);
  const entries = stdout.toString('latin1').split('\0');
  return new Map(
    entries.flatMap((entry) => {
      const match = /^\d+ blob ([0-9a-f]+)\t(.+)$/s.exec(entry);
      return match === null ? [] : [[match[2] ?? '', match[1] ?? ''] as const];
    }),
  );
}

interface ConvertingIndex {
  readonly writtenAtNs: bigint;
  read(wanted: ReadonlySet<string>): Map<string, IndexedFile>;
}

/** The user's index. Null if contents are not converted: then only the bytes decide. */
export async function openConvertingIndex(
  repository: Repository,
  user: UserFolders,
): Promise<ConvertingIndex | null> {
  const file = join(repository.gitDir, 'index');
  try {
    const { mtimeNs } = await stat(file, { bigint: true });
    const found = await readIndexFile(file);
    if (found === null) return null;
    const { bytes } = found;
    const hashBytes = repository.objectFormat === 'sha256' ? 32 : 20;
    if (!(await convertsContents(repository, readIndexSummary(bytes, hashBytes), user))) return null;
    return { writtenAtNs: mtimeNs, read: (wanted) => readIndexedFiles(bytes, hashBytes, wanted) };
  } catch (error) {
    if (isErrno(error, 'ENOENT') || error instanceof RangeError) return null;
    throw error;
  }
}

/** Whether git considers a file unchanged, though its bytes differ. */
export async function isConvertedFrom(
  full: Buffer,
  committed: string,
  objectFormat: ObjectFormat,
  { entry, writtenAtNs }: { entry: IndexedFile | undefined; writtenAtNs: bigint },
): Promise<boolean> {
  if ((await lstatIfThere(full))?.isFile() !== true) return false;
  if (entry?.objectId === committed && isAsIndexed(await lstat(full, { bigint: true }), entry, writtenAtNs))
    return true;
  // Written in the same instant as the index, or by a program that does not update it: only line endings can be judged.
  return idOfBlob(withUnixLines(await readFile(full)), objectFormat) === committed;
}

export function withUnixLines(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
}
