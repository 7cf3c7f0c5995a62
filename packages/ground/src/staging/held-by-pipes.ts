/**
 * Git opens some files of a workspace by their name, and reading a pipe without a writer never ends. One `mkfifo
 * .gitignore` by an agent would block staging until git's timeout.
 *
 * No walk is needed if git is quick: only when it takes unusually long is the folder searched.
 */
import { rm } from 'node:fs/promises';
import { readdirSync, type Dirent } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { isErrno } from '../platform/index.ts';

const LOOK_AFTER_MS = 1000;
const MAX_ENTRIES = 1_000_000;
const OPENED_BY_GIT: ReadonlySet<string> = new Set(['.gitignore', '.gitattributes', '.gitmodules']);

export interface Unenforced<T> {
  readonly value: T;
  /** Warnings about the pipes that blocked git. */
  readonly warnings: readonly string[];
}

/**
 * Runs the work; if a pipe blocks it, the work is stopped, the pipe is removed (it has no content) and the work is
 * repeated.
 */
export async function unlessHeldByPipes<T>(
  workspace: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Unenforced<T>> {
  const held = new AbortController();
  const over = new AbortController();
  const working = work(signal === undefined ? held.signal : AbortSignal.any([signal, held.signal]));
  const isSlow = await Promise.race([working.then(isQuick, isQuick), isStillWaiting(over.signal)]);
  over.abort();
  const pipes = isSlow ? findPipes(workspace) : [];
  if (pipes.length === 0) return { value: await working, warnings: [] };
  held.abort();
  await working.catch(() => undefined); // it was stopped, and is repeated
  for (const path of pipes) await rm(path, { force: true });
  const warnings = pipes.map((path) => `removed the pipe ${relative(workspace, path)}, which git would read`);
  return { value: await work(signal ?? new AbortController().signal), warnings };
}

const isQuick = (): boolean => false;

async function isStillWaiting(signal: AbortSignal): Promise<boolean> {
  return await delay(LOOK_AFTER_MS, true, { signal, ref: false }).catch(() => false);
}

/** Pipes at places that git opens; it ignores others. The workspace's own git dir is not searched. */
function findPipes(workspace: string): string[] {
  const pipes: string[] = [];
  const folders = [{ path: workspace, isGit: false }];
  let entries = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of list(folder.path)) {
      entries += 1;
      if (entries > MAX_ENTRIES) return pipes;
      const path = join(folder.path, entry.name);
      const isGit = folder.isGit || entry.name === '.git';
      if (entry.isFIFO() && (isGit || OPENED_BY_GIT.has(entry.name))) pipes.push(path);
      if (entry.isDirectory() && path !== join(workspace, '.git')) folders.push({ path, isGit });
    }
  }
  return pipes;
}

function list(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isErrno(error, 'EACCES', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG')) return [];
    throw error;
  }
}
