/** The record beside a workspace: what a later host needs to checkpoint and remove it. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isErrno, writeFileAtomic } from '@caisson/ground';

import { PreparedWorkspace, type RecoverableWorkspace } from './contract.ts';

const FOLDER = /^(.+)\.(\d+)$/;

export function attemptFolder(stateDir: string, runId: string, attempt: number): string {
  return join(stateDir, 'worktrees', `${runId}.${attempt}`);
}

export async function writeRecord(prepared: PreparedWorkspace): Promise<void> {
  // Not synced: after a power cut no agent lives, and a folder without a record is still never deleted unseen.
  await writeFileAtomic(join(prepared.attemptDir, 'record.json'), JSON.stringify(prepared), {
    durable: false,
  });
}

/** Every attempt folder that was never removed; run ids sort by time. */
export async function listRecoverable(stateDir: string): Promise<RecoverableWorkspace[]> {
  const names = await listFolder(join(stateDir, 'worktrees'));
  const found = names.toSorted().flatMap((name) => {
    const match = FOLDER.exec(name);
    return match === null ? [] : [{ name, runId: match[1] ?? '', attempt: Number(match[2]) }];
  });
  return await Promise.all(
    found.map(async ({ name, runId, attempt }) => {
      const attemptDir = join(stateDir, 'worktrees', name);
      return { runId, attempt, attemptDir, prepared: await readRecord(attemptDir) };
    }),
  );
}

/** Null when the host died before the workspace was ready. */
export async function readRecord(attemptDir: string): Promise<PreparedWorkspace | null> {
  try {
    return PreparedWorkspace.parse(JSON.parse(await readFile(join(attemptDir, 'record.json'), 'utf8')));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

export async function listFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
