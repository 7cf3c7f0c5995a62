import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isErrno } from '../platform/index.ts';

const EMPTY_POLL_MS = 2;
const EMPTY_LIMIT_MS = 10_000;
const EMPTY_MEMORY_LIMIT_MS = 2_000;

/** A number in a group's file, or `null` for "max", "-1", absence. */
export function readLimit(path: string): number | null {
  const text = readGroupFile(path)?.trim() ?? '';
  return /^\d+$/.test(text) ? Number(text) : null;
}

/** The number after a word in a group's table, 0 when it is not there. */
export function readCount(path: string, word: string): number {
  const found = new RegExp(`^${word} (\\d+)$`, 'm').exec(readGroupFile(path) ?? '');
  return Number(found?.[1] ?? 0);
}

export function readGroupFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV', 'EOPNOTSUPP', 'EACCES', 'EPERM')) return null;
    throw error;
  }
}

/** Why the kernel refused the value, or `null` when it accepted it. */
export function tryWrite(path: string, value: string | number): string | null {
  try {
    writeFileSync(path, String(value));
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Members of the group and of every group below it. The kernel shows 0 for a process of another PID namespace;
 * signalling "process 0" would signal our own group.
 */
export function listMembers(folder: string): number[] {
  const text = readGroupFile(join(folder, 'cgroup.procs')) ?? '';
  const own = text
    .split('\n')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 1);
  return [...own, ...listSubgroups(folder).flatMap(listMembers)];
}

export function listSubgroups(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(folder, entry.name));
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return [];
    throw error;
  }
}

/** Kills the members of all folders, again and again until none is left. Freezing first is faster than a fork bomb. */
export async function killMembers(folders: readonly string[]): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const members = new Set(folders.flatMap(listMembers));
    members.delete(process.pid);
    if (members.size === 0 || performance.now() - startedAt > EMPTY_LIMIT_MS) return;
    const hasKilled = folders
      .filter((folder) => existsSync(join(folder, 'cgroup.kill')))
      .map((folder) => tryWrite(join(folder, 'cgroup.kill'), 1));
    if (!hasKilled.includes(null)) killFrozen(folders, members);
    await delay(EMPTY_POLL_MS);
  }
}

function killFrozen(folders: readonly string[], members: ReadonlySet<number>): void {
  const freezers = folders.map((folder) => join(folder, 'freezer.state')).filter((path) => existsSync(path));
  for (const freezer of freezers) tryWrite(freezer, 'FROZEN');
  for (const pid of members) sendKill(pid);
  for (const freezer of freezers) for (const pid of listMembers(dirname(freezer))) sendKill(pid);
  for (const freezer of freezers) tryWrite(freezer, 'THAWED');
}

function sendKill(pid: number): void {
  if (pid === process.pid) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!isErrno(error, 'ESRCH', 'EPERM')) throw error;
  }
}

/**
 * Frees the memory that a group without members still has, mostly file cache. A removed memory group with any of it
 * stays in the kernel, without a name, until that memory is needed. Best effort: what cannot be freed does not stop the
 * removal. Not in our own thread, because the kernel may have to write a lot to the disk. False when that takes too
 * long: no ending waits for it, and until it is done a removal would wait, too.
 */
export async function emptyMemory(folder: string): Promise<boolean> {
  const isV1 = existsSync(join(folder, 'memory.force_empty'));
  const [file, amount] = isV1
    ? (['memory.force_empty', 0] as const)
    : (['memory.reclaim', readLimit(join(folder, 'memory.current')) ?? 0] as const);
  if (!isV1 && amount === 0) return true;
  const isDone = (): boolean => true;
  const written = writeFile(join(folder, file), String(amount), { flag: 'r+' }).then(isDone, isDone);
  return await Promise.race([written, delay(EMPTY_MEMORY_LIMIT_MS, false, { ref: false })]);
}

/**
 * Removes an empty group with what is below it; the kernel may report "busy" while the last member is being removed.
 * False: it is left to the search for empty groups, because its memory could not be freed in time.
 */
export async function removeGroup(folder: string): Promise<boolean> {
  for (const subgroup of listSubgroups(folder)) if (!(await removeGroup(subgroup))) return false;
  if (!(await emptyMemory(folder))) return false;
  const startedAt = performance.now();
  for (;;) {
    try {
      rmdirSync(folder);
      return true;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return true;
      if (!isErrno(error, 'EBUSY') || performance.now() - startedAt > EMPTY_LIMIT_MS) throw error;
    }
    await delay(EMPTY_POLL_MS);
  }
}
