/** The patch is computed on copies of the files it touches, in our own git dir (A1). */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import {
  beneath,
  createGit,
  createOwnGitDir,
  type Git,
  type ObjectFormat,
  type PatchHeader,
} from '@caisson/ground';

import { mapAtOnce } from './at-once.ts';
import type { ApplyOptions } from './contract.ts';
import { WorkspaceError } from './errors.ts';
import type { Repository } from './locate-repository.ts';
import { copyEntry, pathIn } from './work-file.ts';

export interface ApplyPlace {
  readonly root: string;
  readonly repository: Repository | null;
  readonly objectFormat: ObjectFormat;
  readonly objectDir: string;
}

export async function openStaging(place: ApplyPlace, folder: string, staging: string): Promise<Git> {
  const gitDir = join(folder, 'git');
  await mkdir(staging);
  await createOwnGitDir({ path: gitDir, objectFormat: place.objectFormat, objectDir: place.objectDir });
  return createGit({ cwd: staging, gitDir, workTree: staging, timeoutMs: 300_000 });
}

/** Copies what the patch touches; returns the paths that existed. */
export async function copyTouched(
  place: ApplyPlace,
  staging: string,
  headers: readonly PatchHeader[],
): Promise<Buffer[]> {
  const linkPaths = new Set(linksOf(headers).map((header) => keyOf(header.oldPath)));
  const files = touchedPaths(headers).filter((path) => !linkPaths.has(keyOf(path)));
  const copied = await mapAtOnce(files, (path) =>
    beneath(place.root, path, (at) => copyEntry(at, pathIn(staging, path))),
  );
  return files.filter((_path, index) => copied[index] === true);
}

/** If every file is as the patch expects it, no index and no merge is needed. False when that did not work. */
export async function applyExactly(git: Git, patch: Buffer): Promise<boolean> {
  if (/^(?:(?:new|old|deleted) file )?mode 160000$|^index [0-9a-f.]+ 160000$/m.test(patch.toString('latin1')))
    return false;
  const applied = await git.run(['apply', '--whitespace=nowarn', '-'], {
    stdin: patch,
    okExitCodes: [0, 1, 128],
  });
  return applied.exitCode === 0;
}

/** Adds the copies to the index, and submodules, which are never copied. */
export async function stageCopies(
  git: Git,
  names: readonly Buffer[],
  headers: readonly PatchHeader[],
): Promise<void> {
  const nul = Buffer.from('\0');
  const list = Buffer.concat(names.flatMap((name) => [name, nul]));
  await git.run(['update-index', '--add', '-z', '--stdin'], { stdin: list });
  const links = linksOf(headers);
  if (links.length === 0) return;
  const entries = links.flatMap(({ oldId, oldPath }) => [
    Buffer.from(`160000 ${oldId}\t`),
    oldPath ?? nul,
    nul,
  ]);
  await git.run(['update-index', '-z', '--index-info'], { stdin: Buffer.concat(entries) });
}

function linksOf(headers: readonly PatchHeader[]): PatchHeader[] {
  return headers.filter((header) => header.oldMode === '160000' && header.oldPath !== null);
}

/** A5: the patch is computed as if the file were still as it was. */
export async function stageGone(git: Git, gone: readonly PatchHeader[]): Promise<void> {
  const known = gone.filter((header) => header.oldId !== null);
  if (known.length === 0) return;
  const nul = Buffer.from('\0');
  const entries = known.flatMap(({ oldId, oldMode, oldPath }) => [
    Buffer.from(`${oldMode ?? '100644'} ${oldId}\t`),
    oldPath ?? nul,
    nul,
  ]);
  await git.run(['update-index', '-z', '--index-info'], { stdin: Buffer.concat(entries) });
  const names = Buffer.concat(known.flatMap(({ oldPath }) => [oldPath ?? nul, nul]));
  await git.run(['checkout-index', '-u', '-z', '--stdin'], { stdin: names });
}

/** The conflicting paths; none when the patch applied. */
export async function runApply(git: Git, options: ApplyOptions): Promise<Buffer[]> {
  const mode = options.threeWay ? ['--3way'] : [];
  const applied = await git.run(['apply', '--index', ...mode, '--whitespace=nowarn', '-'], {
    stdin: options.patch,
    okExitCodes: [0, 1, 128],
  });
  if (applied.exitCode === 0) return [];
  const { stdout } = await git.run(['ls-files', '-u', '-z']);
  const keys = stdout
    .toString('latin1')
    .split('\0')
    .filter((entry) => entry !== '');
  const conflicts = new Set(keys.map((entry) => entry.slice(entry.indexOf('\t') + 1)));
  if (conflicts.size > 0) return [...conflicts].map((key) => Buffer.from(key, 'latin1'));
  throw new WorkspaceError(`The patch does not apply to ${options.projectRoot}: ${applied.stderr.trim()}`, {
    remedy:
      'Nothing was changed. Look at the patch with `caisson diff`, or check out the commit it was made from.',
  });
}

/** Every path that the patch names, once. */
export function touchedPaths(headers: readonly PatchHeader[]): Buffer[] {
  const paths = headers.flatMap((header) => [header.oldPath, header.newPath]).filter((path) => path !== null);
  return [...new Map(paths.map((path) => [keyOf(path), path])).values()];
}

export function keyOf(path: Buffer | null): string {
  return path?.toString('latin1') ?? '';
}
