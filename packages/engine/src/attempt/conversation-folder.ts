/**
 * Where an agent stores what it needs to continue later: one folder a run. It is the only part of the agent's private
 * HOME that outlives an attempt. A run that continues another begins with a copy of that one's folder, so that all
 * continuations start from the same state, and never write into one conversation; a later attempt continues in its own.
 *
 * The agent sees `own` in it and never the folder itself: beside `own` are the folders that are mounted by their path
 * at the next attempt, and a link in the place of one would mount any folder of the user.
 */
import { constants, existsSync, lstatSync, mkdirSync, symlinkSync, utimesSync } from 'node:fs';
import { cp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Job } from '@caisson/protocol';
import type { EarlierConversation } from './continued-work.ts';
import type { AdmittedRun } from '../admission/index.ts';
import { attemptPaths } from './state-paths.ts';

export interface AgentConversation {
  /** The folder that the agent sees; `null` for a runtime that cannot resume. */
  readonly folder: string | null;
  readonly resume: Job['resume'];
  /** Why the earlier conversation could not be copied, if it should have been. */
  readonly problem?: string;
}

/** Makes the folder, and returns whether the earlier conversation is there to be resumed. */
export async function openConversation(
  run: Pick<AdmittedRun, 'runId' | 'runtime'>,
  stateDir: string,
  earlier: EarlierConversation | null,
): Promise<AgentConversation> {
  if (!run.runtime.descriptor.canResume) return { folder: null, resume: undefined };
  const folderOf = (runId: string): string => attemptPaths(stateDir, runId, 1).session;
  const root = folderOf(run.runId);
  const folder = join(root, 'own');
  const isOwn = earlier?.runId === run.runId;
  if (!isOwn) await rm(root, { recursive: true, force: true }); // of an attempt before this one
  const problem = earlier === null || isOwn ? null : await copyConversation(folderOf(earlier.runId), root);
  const isThere = existsSync(root);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const now = new Date();
  utimesSync(root, now, now); // its age is the time since its last use
  return { folder, resume: isThere ? earlier?.resume : undefined, ...(problem === null ? {} : { problem }) };
}

/** All of it or nothing. The agent's files are copied as they are: no link is followed, and only files are copied. */
async function copyConversation(from: string, to: string): Promise<string | null> {
  if (!existsSync(from)) return null; // expired, or forgotten
  const half = `${to}.copying`;
  try {
    await rm(half, { recursive: true, force: true });
    await cp(from, half, {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      mode: constants.COPYFILE_FICLONE,
      filter: (path) => isPlain(path),
    });
    await rename(half, to);
    return null;
  } catch (error) {
    await rm(half, { recursive: true, force: true });
    return `the agent's conversation could not be copied, so it begins a new one: ${(error as Error).message}`;
  }
}

function isPlain(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  return entry !== undefined && (entry.isFile() || entry.isDirectory() || entry.isSymbolicLink());
}

/** Without a sandbox HOME is a private folder, and the conversation is linked into it. */
export function linkConversation(privateHome: string, folder: string | null): void {
  const link = join(privateHome, '.caisson-session');
  if (folder !== null && !existsSync(link)) symlinkSync(folder, link);
}
