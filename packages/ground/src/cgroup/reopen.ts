/** A group made by another process, known only by its `cgroup.procs` files: what a later host needs to end and remove it. */
import { readFileSync, rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const EMPTY_POLL_MS = 5;
const EMPTY_LIMIT_MS = 10_000;

export interface ReopenedCgroup {
  pids(): number[];
  /** SIGKILLs until the group is empty. */
  kill(): Promise<void>;
  /** Removes the emptied group; one that is gone already is fine. */
  remove(): Promise<void>;
}

export function reopenCgroup(procsFiles: readonly string[]): ReopenedCgroup {
  const pids = (): number[] => [...new Set(procsFiles.flatMap(readPids))];
  const kill = async (): Promise<void> => {
    const until = performance.now() + EMPTY_LIMIT_MS;
    for (let left = pids(); left.length > 0 && performance.now() < until; left = pids()) {
      for (const pid of left) killQuietly(pid);
      await pause(EMPTY_POLL_MS);
    }
  };
  return {
    pids,
    kill,
    async remove() {
      await kill();
      for (const file of procsFiles) removeFolder(dirname(file));
    },
  };
}

function readPids(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

function removeFolder(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // gone already
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENODEV';
}
