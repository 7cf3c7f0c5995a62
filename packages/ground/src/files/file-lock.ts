/**
 * A lock between processes that needs no kernel lock and cannot be left behind.
 *
 * The lock is a file that names its holder by pid and start time; it is made by a hard link, which exactly one process
 * can do. A process that finds a dead holder removes the lock file, and only one process may do that:
 *
 * L1  A lock file is removed by its living holder, or by the process that holds the lock for removing exactly that
 *     holder.
 * L2  A holder's token never comes back, so a late remover finds another token and does nothing.
 * L3  A remover that dies leaves a lock of the same kind, under its own name, which is removed the same way.
 * L4  A file without a valid holder was left by a power cut: a lock file is complete before it gets its name. It counts
 *     as dead after `BROKEN_LIMIT_MS`, and its inode and time are its token.
 *
 * A holder in another pid namespace cannot be inspected; it counts as dead after `FOREIGN_LIMIT_MS`.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { CaissonError } from '@caisson/protocol';
import * as z from 'zod/mini';
import { isErrno, unlessErrno } from '../platform/index.ts';
import { isSameProcess, readProcess } from '../processes/index.ts';
import { removeFileSync } from './remove-file.ts';

/** A lock that is held for longer is touched by its holder before that. */
export const FOREIGN_LIMIT_MS = 30_000;
const BROKEN_LIMIT_MS = 1000;
const REMOVE_WAIT_MS = 10_000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 20;

/** Another process held the lock for too long. */
export class LockTimeoutError extends CaissonError {
  readonly code = 'LOCK_TIMEOUT';
  override readonly retryable = true;
}

export interface LockOptions {
  /** How long to wait for the lock. Default 10 s. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

const Holder = z.object({
  token: z.string().check(z.regex(/^[0-9a-f]{24}$/)),
  pid: z.int(),
  startTime: z.string(),
  namespace: z.string(),
  note: z.optional(z.string()),
});
type Holder = z.infer<typeof Holder>;

/** L4 */
interface Broken {
  readonly token: string;
  readonly sinceMs: number;
}

/** Runs `work` while no other process is inside for the same `lockPath`. `work` must not yield for long. */
export async function withFileLock<T>(
  lockPath: string,
  work: () => T | Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const untilMs = performance.now() + (options.waitMs ?? 10_000);
  return inTurn(lockPath, untilMs, options.signal, () => lockAndRun(lockPath, work, untilMs, options.signal));
}

export type FileLock =
  /** To be released once. */
  | { readonly kind: 'held'; release(): void }
  /** Null when the holder left no note that can be read. */
  | { readonly kind: 'taken'; readonly note: string | null };

/** Takes the lock until it is released or this process ends. Does not wait for a holder that lives; `note` is for others. */
export async function takeFileLock(lockPath: string, note: string): Promise<FileLock> {
  const token = randomBytes(12).toString('hex');
  const own = `${lockPath}.${token}`;
  writeFileSync(own, JSON.stringify({ ...describeSelf(token), note }), { mode: 0o600, flag: 'wx' });
  try {
    while (!tryLink(own, lockPath)) {
      const holder = readHolder(lockPath);
      if (holder === null) continue;
      if (!isDead(holder, lockPath))
        return { kind: 'taken', note: 'note' in holder ? (holder.note ?? null) : null };
      await removeDeadLock(lockPath, holder, REMOVE_WAIT_MS, undefined);
    }
    return { kind: 'held', release: () => removeFileSync(lockPath) }; // L1
  } finally {
    removeFileSync(own);
  }
}

/** When the last of this process's calls for a path is over. */
const turns = new Map<string, Promise<void>>();

/** Calls of one process follow each other without a look at the file: only one of them competes with other processes. */
async function inTurn<T>(
  lockPath: string,
  untilMs: number,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const before = turns.get(lockPath);
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const turn = before === undefined ? isOver : before.then(() => isOver);
  turns.set(lockPath, turn);
  try {
    if (before !== undefined && !(await isInTime(before, untilMs, signal))) throw tooLate(lockPath, null);
    return await work();
  } finally {
    end();
    if (turns.get(lockPath) === turn) turns.delete(lockPath);
  }
}

/** Whether it is over before the time is. Rejects when `signal` is aborted. */
async function isInTime(
  before: Promise<void>,
  untilMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), Math.max(0, untilMs - performance.now()));
  const abort = (): void => reject(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  void before.then(() => resolve(true));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

async function lockAndRun<T>(
  lockPath: string,
  work: () => T | Promise<T>,
  untilMs: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  const token = randomBytes(12).toString('hex');
  const own = `${lockPath}.${token}`;
  writeFileSync(own, JSON.stringify(describeSelf(token)), { mode: 0o600, flag: 'wx' });
  try {
    await takeLock(lockPath, own, untilMs, signal);
    try {
      return await work();
    } finally {
      removeFileSync(lockPath); // L1: we are alive and hold it
    }
  } finally {
    removeFileSync(own);
  }
}

async function takeLock(
  lockPath: string,
  own: string,
  untilMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !tryLink(own, lockPath);) {
    signal?.throwIfAborted();
    const holder = readHolder(lockPath);
    if (holder !== null && isDead(holder, lockPath)) {
      await removeDeadLock(lockPath, holder, Math.max(0, untilMs - performance.now()), signal);
      continue;
    }
    if (performance.now() >= untilMs) throw tooLate(lockPath, holder);
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
  }
}

/** L1 to L3 */
async function removeDeadLock(
  lockPath: string,
  dead: Holder | Broken,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = signal === undefined ? { waitMs } : { waitMs, signal };
  await withFileLock(
    `${lockPath}.removeDeadLock-${dead.token}`,
    () => {
      if (readHolder(lockPath)?.token !== dead.token) return; // L2
      removeFileSync(lockPath);
      removeFileSync(`${lockPath}.${dead.token}`);
    },
    options,
  );
}

function tryLink(own: string, lockPath: string): boolean {
  try {
    linkSync(own, lockPath);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

/** `null` when there is no holder (any more). */
function readHolder(lockPath: string): Holder | Broken | null {
  const text = readIfThere(lockPath);
  if (text === null) return null;
  try {
    return Holder.parse(JSON.parse(text));
  } catch {
    const found = statSync(lockPath, { throwIfNoEntry: false });
    if (found === undefined) return null;
    return { token: `broken-${found.ino}-${Math.trunc(found.mtimeMs)}`, sinceMs: found.mtimeMs }; // L4
  }
}

function readIfThere(path: string): string | null {
  return unlessErrno(() => readFileSync(path, 'utf8'), null, 'ENOENT');
}

function isDead(holder: Holder | Broken, lockPath: string): boolean {
  if ('sinceMs' in holder) return Math.abs(Date.now() - holder.sinceMs) > BROKEN_LIMIT_MS; // the clock may jump
  if (holder.namespace === pidNamespace()) return !isSameProcess(holder.pid, holder.startTime);
  const heldSince = statSync(lockPath, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  return Date.now() - heldSince > FOREIGN_LIMIT_MS;
}

function describeSelf(token: string): Holder {
  self ??= {
    pid: process.pid,
    startTime: readProcess(process.pid)?.startTime ?? '0',
    namespace: pidNamespace(),
  };
  return { token, ...self };
}

let self: Omit<Holder, 'token'> | null = null;

function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid');
}

function tooLate(lockPath: string, holder: Holder | Broken | null): LockTimeoutError {
  const who = holder !== null && 'pid' in holder ? `process ${holder.pid}` : 'others';
  return new LockTimeoutError(`${lockPath} stayed locked by ${who}; try again.`);
}
