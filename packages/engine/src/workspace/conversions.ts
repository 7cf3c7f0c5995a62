/**
 * Files whose bytes differ from the committed ones only because the user's git converts contents (line endings,
 * filters). Workspace, patch and checkpoint contain the bytes; the agent's git and a branch that people merge contain
 * the committed blob, unless the file was changed.
 */
import { lstat, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import {
  createGit,
  listTreeChanges,
  isErrno,
  objectFormatOf,
  replaceEntries,
  showPath,
  type ReplacedEntry,
} from '@caisson/ground';
import * as z from 'zod/mini';

import { mapAtOnce } from './at-once.ts';
import { isConvertedFrom, openConvertingIndex, withUnixLines } from './find-dirty.ts';
import type { Repository, UserFolders } from './locate-repository.ts';
import { idOfBlob, pathIn } from './work-file.ts';

const Conversion = z.object({
  /** Bytes in Latin-1. */
  path: z.string(),
  committed: z.string(),
  raw: z.string(),
});
export type Conversion = z.infer<typeof Conversion>;

const MEMORY = 'conversions.json';
/** Older than any index: git trusts an index only for files that are older than itself. */
const AGE_S = 60;

/** Compares the user's files, staged as `tree`, with HEAD. Remembered in `gitDir`. */
export async function findConversions(
  repository: Repository,
  gitDir: string,
  tree: string,
  user: UserFolders,
): Promise<Conversion[]> {
  const { headCommit, objectFormat, top } = repository;
  const index = headCommit === null ? null : await openConvertingIndex(repository, user);
  if (headCommit === null || index === null) return [];
  const differing = await listDiffering(gitDir, headCommit, tree);
  const files = index.read(new Set(differing.map(({ path }) => path)));
  const isClean = await mapAtOnce(differing, ({ path, committed }) =>
    isConvertedFrom(pathIn(top, Buffer.from(path, 'latin1')), committed, objectFormat, {
      entry: files.get(path),
      writtenAtNs: index.writtenAtNs,
    }),
  );
  const conversions = differing.filter((_one, at) => isClean[at] === true);
  if (conversions.length > 0) await writeFile(join(gitDir, MEMORY), JSON.stringify(conversions));
  return conversions;
}

export async function readConversions(gitDir: string): Promise<Conversion[]> {
  try {
    return z.array(Conversion).parse(JSON.parse(await readFile(join(gitDir, MEMORY), 'utf8')));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

/**
 * The agent's index: converted files have the committed blob, and count as unchanged. Its git has no filters, so it
 * must not read them: their files are made older than the index.
 */
export async function writeAgentIndex(
  file: string,
  workspace: string,
  conversions: readonly Conversion[],
): Promise<void> {
  const index = await readFile(file);
  const old = Math.floor(Date.now() / 1000) - AGE_S;
  const replaced = await mapAtOnce(conversions, async ({ path, committed }) => {
    const full = pathIn(workspace, Buffer.from(path, 'latin1'));
    await utimes(full, old, old);
    const stats = await lstat(full, { bigint: true });
    return [path, { objectId: committed, stats }] satisfies [string, ReplacedEntry];
  });
  const hashBytes = (conversions[0]?.committed.length ?? 40) / 2;
  await writeFile(file, replaceEntries(index, hashBytes, new Map(replaced)));
}

export interface ConvertedBack {
  /** For `update-index --index-info`. */
  readonly entries: readonly Buffer[];
  readonly unconverted: readonly string[];
}

/** What a branch contains in place of the bytes in `tree`: the committed blob if the file was not changed. */
export async function convertBack(
  gitDir: string,
  tree: string,
  conversions: readonly Conversion[],
): Promise<ConvertedBack> {
  if (conversions.length === 0) return { entries: [], unconverted: [] };
  const git = createGit({ cwd: gitDir, gitDir });
  const listed = (await git.run(['ls-tree', '-r', '-z', '--full-tree', tree])).stdout.toString('latin1');
  const byPath = new Map(conversions.map((conversion) => [conversion.path, conversion]));
  const entries: Buffer[] = [];
  const unconverted: string[] = [];
  for (const line of listed.split('\0')) {
    const match = /^(100\d+) blob ([0-9a-f]+)\t(.+)$/s.exec(line);
    const [, mode = '', present = '', path = ''] = match ?? [];
    const conversion = byPath.get(path);
    if (conversion === undefined) continue;
    const blob =
      present === conversion.raw ? conversion.committed : await convertLines(gitDir, conversion, present);
    if (blob === null) unconverted.push(showPath(Buffer.from(path, 'latin1')));
    else entries.push(Buffer.from(`${mode} ${blob}\t${path}\0`, 'latin1'));
  }
  return { entries, unconverted };
}

/** Line endings are converted if the user's git does nothing else to the file; null otherwise. */
async function convertLines(
  gitDir: string,
  { raw, committed }: Conversion,
  changed: string,
): Promise<string | null> {
  const git = createGit({ cwd: gitDir, gitDir });
  const read = async (id: string): Promise<Buffer> => (await git.run(['cat-file', 'blob', id])).stdout;
  if (idOfBlob(withUnixLines(await read(raw)), objectFormatOf(committed)) !== committed) return null;
  return await git.text(['hash-object', '-w', '--stdin', '--no-filters'], {
    stdin: withUnixLines(await read(changed)),
  });
}

/** Regular files in both trees with the same mode and other contents. */
async function listDiffering(gitDir: string, from: string, to: string): Promise<Conversion[]> {
  const changes = await listTreeChanges(createGit({ cwd: gitDir, gitDir }), from, to);
  return changes
    .filter(({ oldMode, newMode }) => oldMode.startsWith('100') && newMode.startsWith('100'))
    .map(({ path, oldId, newId }) => ({ path, committed: oldId, raw: newId }));
}
