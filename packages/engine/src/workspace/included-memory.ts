/**
 * Files from `workspace.include` are ignored ones, often with secrets: they are in no patch and no checkpoint. The
 * agent's changes to them are work all the same. So we remember their first state; changes are named, and the workspace
 * counts as not saved.
 */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { unlessErrno } from '@caisson/ground';
import * as z from 'zod/mini';

import type { PreparedWorkspace } from './contract.ts';
import { readIfThere } from './locate-repository.ts';

const MEMORY = 'included.json';
const MAX_HASHED_BYTES = 1024 * 1024;
/** A larger folder (installed packages, a cache) is not searched; people do not write work there by hand. */
const MAX_ENTRIES = 20_000;

const Memory = z.object({
  /** Path relative to the workspace → hash; null for entries that are judged by their change time. */
  paths: z.record(z.string(), z.nullable(z.string())),
  changedAtMs: z.number(),
});

/** `changedAtMs` is a moment, by the file system's own clock, after everything was copied. */
export async function rememberIncluded(
  { attemptDir, path }: Pick<PreparedWorkspace, 'attemptDir' | 'path'>,
  brought: readonly string[],
  changedAtMs: number,
): Promise<void> {
  if (brought.length === 0) return;
  const paths = await Promise.all(
    brought.map(async (name) => [name, await hashOf(join(path, name))] as const),
  );
  await writeFile(
    join(attemptDir, MEMORY),
    JSON.stringify({ paths: Object.fromEntries(paths), changedAtMs } satisfies z.infer<typeof Memory>),
  );
}

type Place = Pick<PreparedWorkspace, 'attemptDir' | 'gitDir' | 'path'>;

/** Included files that changed since the agent started. */
export async function findChangedIncluded(place: Place): Promise<string[]> {
  return (await compareIncluded(place)).filter(({ isSame }) => isSame === false).map(({ name }) => name);
}

/** Included files that are still as the user has them. */
export async function listUnchangedIncluded(place: Place): Promise<string[]> {
  return (await compareIncluded(place)).filter(({ isSame }) => isSame === true).map(({ name }) => name);
}

/** `isSame` is null for a folder that is too large to be searched. */
async function compareIncluded(
  place: Place,
): Promise<{ readonly name: string; readonly isSame: boolean | null }[]> {
  const text = await readIfThere(join(place.attemptDir, MEMORY));
  if (text === null) return [];
  const { paths, changedAtMs } = Memory.parse(JSON.parse(text));
  // Changes by setup scripts are preparation.
  const preparedAtMs = statSync(join(place.gitDir, 'prepared-tree'), { throwIfNoEntry: false })?.ctimeMs ?? 0;
  const sinceMs = Math.max(changedAtMs, preparedAtMs);
  const compare = async (name: string, hash: string | null): Promise<boolean | null> => {
    const path = join(place.path, name);
    const hasChanged = hasChangedSince(path, sinceMs);
    if (hasChanged !== true) return hasChanged === null ? null : true;
    return hash !== null && (await hashOf(path)) === hash;
  };
  return await Promise.all(
    Object.entries(paths).map(async ([name, hash]) => ({ name, isSame: await compare(name, hash) })),
  );
}

/** Null for folders, links and large files. */
async function hashOf(path: string): Promise<string | null> {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined || !entry.isFile() || entry.size > MAX_HASHED_BYTES) return null;
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

/** A deleted one is no work: the user still has it. Null: there is too much to know. */
function hasChangedSince(top: string, sinceMs: number): boolean | null {
  const waiting = [top];
  let seen = 0;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry === undefined) continue;
    if (entry.ctimeMs >= sinceMs) return true;
    if (!entry.isDirectory()) continue;
    const names = listIfReadable(path);
    seen += names.length;
    if (seen > MAX_ENTRIES) return null;
    const folder = path;
    waiting.push(...names.map((name) => join(folder, name)));
  }
  return false;
}

function listIfReadable(path: string): string[] {
  return unlessErrno(() => readdirSync(path), [], 'EACCES');
}
