/**
 * Files that rules of the user hide from the agent (S9). The agent borrows the store that a stage writes to, so a file
 * that is hidden from it must not even be read.
 *
 * N1  Only what staging would read counts: what the index has already, unchanged, stays as it is.
 * N2  Git names the files, not a walk: nested repositories are staged one by one, and each is checked.
 * N3  Names are kept as bytes: one that is not UTF-8 is hidden like any other.
 * N4  Every stage of a run asks the rules again: the agent can change what git ignores, and so what a stage would read.
 *     What was there before the agent is remembered, so that only the rest is reported.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { writeFileAtomic } from '../files/index.ts';
import type { Git } from '../git/index.ts';
import { isErrno } from '../platform/index.ts';

const MEMORY = 'hidden-names.json';
const Names = z.array(z.string());

/** What was hidden before the agent started, relative to the workspace. */
export async function recallHidden(gitDir: string): Promise<Buffer[]> {
  try {
    const names = Names.parse(JSON.parse(await readFile(join(gitDir, MEMORY), 'utf8')));
    return names.map((name) => Buffer.from(name, 'latin1'));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}

export async function rememberHidden(gitDir: string, names: readonly Buffer[]): Promise<void> {
  if (names.length === 0) return;
  const distinct = new Set(names.map((name) => name.toString('latin1')));
  await writeFileAtomic(join(gitDir, MEMORY), JSON.stringify([...distinct]), { durable: false });
}

/** For a workspace that has none of the hidden files: what is made there under their names is work. */
export async function forgetHidden(gitDir: string): Promise<void> {
  await rm(join(gitDir, MEMORY), { force: true });
}

/** The names (relative to the git's work tree) among `changed` that the rules hide. `prefix` leads to the work tree. */
export function findHidden(
  changed: readonly Buffer[],
  prefix: string,
  hides: (path: string) => boolean,
): Buffer[] {
  return changed.filter((name) => hides(prefix + name.toString('utf8')));
}

/** Whether a name is one of these. */
export function namesIn(names: readonly Buffer[]): (name: Buffer) => boolean {
  const known = new Set(names.map((name) => name.toString('latin1')));
  return (name) => known.has(name.toString('latin1'));
}

/** Those of `names` below `prefix`, relative to it. */
export function below(prefix: string, names: readonly Buffer[]): Buffer[] {
  const start = Buffer.from(prefix);
  return names
    .filter((name) => name.length > start.length && name.subarray(0, start.length).equals(start))
    .map((name) => name.subarray(start.length));
}

/** A conflict in a hidden file would keep git from writing a tree, because nothing resolves it: it leaves the index. */
export async function dropConflicts(git: Git, hidden: readonly Buffer[]): Promise<void> {
  const end = Buffer.from([0]);
  const { stdout } = await git.run(['ls-files', '-z', '--unmerged']);
  if (stdout.length === 0) return;
  const unmerged = new Set(
    stdout
      .toString('latin1')
      .split('\0')
      .map((line) => line.slice(line.indexOf('\t') + 1)),
  );
  const conflicting = hidden.filter((name) => unmerged.has(name.toString('latin1')));
  const stdin = Buffer.concat(conflicting.flatMap((name) => [name, end]));
  if (stdin.length > 0) await git.run(['update-index', '-z', '--force-remove', '--stdin'], { stdin });
}
