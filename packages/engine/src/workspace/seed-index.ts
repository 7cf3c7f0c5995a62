/**
 * Starts our index from the user's: it names the tracked files (ignored ones too) and remembers which files are
 * unchanged, so that nothing is hashed twice. These times are dropped where the user's git converts contents, because
 * the recorded blob is then not the file's own bytes. Marks that make git skip a file are dropped: what the user has
 * there is part of the agent's start, and what the agent does to it is work.
 *
 * A stranger may have written this index. It is used only if every path in it is one that git would add; otherwise HEAD
 * names the tracked files.
 */
import { rm, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import {
  createGit,
  createPresence,
  dropExtensions,
  forgetIndexStats,
  readIndexSummary,
  revealEntries,
  type IndexSummary,
} from '@caisson/ground';

import { readGitFile } from './git-dir-file.ts';
import { readAttributes, readIndexFile, type IndexFile } from './index-file.ts';
import { readIfThere, type Repository, type UserFolders } from './locate-repository.ts';

export async function seedIndex(repository: Repository, gitDir: string, user: UserFolders): Promise<void> {
  const target = join(gitDir, 'index');
  const hashBytes = repository.objectFormat === 'sha256' ? 32 : 20;
  const found = await readIndexFile(join(repository.gitDir, 'index'));
  const foundSummary = found === null ? null : summarise(found.bytes, hashBytes);
  if (found === null || foundSummary === null) return seedFromHead(repository, gitDir);
  const isPartial = isPartialIndex(foundSummary);
  const source = isPartial ? await makeWhole(repository, gitDir, found, foundSummary) : found;
  const summary = source === found ? foundSummary : source && summarise(source.bytes, hashBytes);
  if (source === null || summary === null || isPartialIndex(summary)) return seedFromHead(repository, gitDir);
  const isConverting = await convertsContents(repository, summary, user);
  const plain = dropExtensions(source.bytes, hashBytes);
  const trusted = isConverting ? forgetIndexStats(plain, hashBytes) : plain;
  await writeIndex(target, {
    bytes: revealEntries(trusted, hashBytes, createPresence(repository.top)) ?? trusted,
    mtimeMs: source.mtimeMs,
  });
}

function isPartialIndex({ sharedIndex, hasSparseFolders }: IndexSummary): boolean {
  return sharedIndex !== null || hasSparseFolders;
}

/** Git itself joins a split index and opens the folders of a sparse one. Null if the shared half cannot be used. */
async function makeWhole(
  repository: Repository,
  gitDir: string,
  found: IndexFile,
  { sharedIndex }: IndexSummary,
): Promise<IndexFile | null> {
  const target = join(gitDir, 'index');
  await writeIndex(target, found);
  if (sharedIndex !== null) {
    const name = `sharedindex.${sharedIndex}`;
    const shared = await readIndexFile(join(repository.gitDir, name));
    if (shared === null || summarise(shared.bytes, sharedIndex.length / 2) === null) return null;
    await writeFile(join(gitDir, name), shared.bytes);
  }
  await createGit({ cwd: gitDir, gitDir, workTree: repository.top }).run([
    'update-index',
    '--force-write-index',
  ]);
  return (await readIndexFile(target)) ?? found;
}

/** Git trusts only entries older than the index itself, so its time counts. */
async function writeIndex(path: string, { bytes, mtimeMs }: IndexFile): Promise<void> {
  await writeFile(path, bytes);
  const seconds = Math.floor(mtimeMs) / 1000;
  await utimes(path, seconds, seconds);
}

/** Text of the ignore rules that are not in the working files: the user's global ones, then the repository's. */
export async function readIgnoreRules(repository: Repository, user: UserFolders): Promise<string> {
  const named = repository.config.get('core.excludesfile');
  const global =
    named === undefined ? join(user.xdgConfigHome, 'git', 'ignore') : expand(named, repository.top, user);
  const texts = await Promise.all([readIfThere(global), readGitFile(repository.commonDir, 'info/exclude')]);
  return texts.map((text) => `${text ?? ''}\n`).join('');
}

function summarise(bytes: Buffer, hashBytes: number): IndexSummary | null {
  try {
    return readIndexSummary(bytes, hashBytes);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

async function seedFromHead(repository: Repository, gitDir: string): Promise<void> {
  await rm(join(gitDir, 'index'), { force: true }); // git would keep what it finds in there
  if (repository.headCommit === null) return;
  await createGit({ cwd: gitDir, gitDir, workTree: gitDir }).run(['read-tree', repository.headCommit]);
}

/** Whether git's blobs may differ from the bytes in the files; also if that cannot be known. */
export async function convertsContents(
  repository: Repository,
  summary: IndexSummary,
  user: UserFolders,
): Promise<boolean> {
  const { config, top } = repository;
  const autocrlf = config.get('core.autocrlf') ?? 'false';
  if (!['false', 'no', 'off', '0', ''].includes(autocrlf)) return true;
  const named = config.get('core.attributesfile');
  const files = [
    join(repository.commonDir, 'info', 'attributes'),
    named === undefined ? join(user.xdgConfigHome, 'git', 'attributes') : expand(named, top, user),
    join(top, '.gitattributes'),
    ...summary.attributeFiles.map((path) => join(top, path.toString('utf8'))),
  ];
  const texts = await Promise.all([...new Set(files)].map(readAttributes));
  return texts.some((text) => text === null || text.split('\n').some(isConvertingLine));
}

function isConvertingLine(line: string): boolean {
  if (line.startsWith('#')) return false;
  const [, ...attributes] = line.trim().split(/\s+/);
  return attributes.some((attribute) =>
    /^(text|eol|crlf|ident|filter|working-tree-encoding)(=|$)/.test(attribute),
  );
}

function expand(path: string, top: string, user: UserFolders): string {
  return path.startsWith('~/') ? join(user.home, path.slice(2)) : resolve(top, path);
}
