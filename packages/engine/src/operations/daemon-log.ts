/** The file to which a daemon in the background prints. */
import {
  copyFileSync,
  existsSync,
  fstatSync,
  readdirSync,
  renameSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { removeFileSync } from '@caisson/ground';

const NAME = 'daemon.log';
const MAX_BYTES = 4 * 1024 * 1024;
const STDOUT = 1;
const OF_START = /^daemon-start\.\d+\.log$/;
/** No start takes so long. */
const LEFT_MS = 3_600_000;

export function daemonLogPath(stateDir: string): string {
  return join(stateDir, 'runtime', NAME);
}

/** Each start has a log of its own, so that the reason of a failure is its own too. */
export function startLogPath(stateDir: string, pid: number): string {
  return join(stateDir, 'runtime', `daemon-start.${pid}.log`);
}

/**
 * The log of the start, to which this process prints, is that of the daemon from now on; the one before it is kept once. What
 * starts left that were interrupted is removed.
 */
export function keepOwnLog(stateDir: string, ownFd = STDOUT): void {
  const log = daemonLogPath(stateDir);
  if (!existsSync(dirname(log))) return;
  for (const name of readdirSync(dirname(log)).filter((entry) => OF_START.test(entry))) {
    const path = join(dirname(log), name);
    if (isOpenAs(path, ownFd)) {
      if (existsSync(log)) renameSync(log, `${log}.1`);
      renameSync(path, log);
    } else if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > LEFT_MS)
      removeFileSync(path);
  }
}

/** The log, if this process prints to it. */
export function findOwnLog(stateDir: string, ownFd = STDOUT): string | null {
  const path = daemonLogPath(stateDir);
  return isOpenAs(path, ownFd) ? path : null;
}

function isOpenAs(path: string, fd: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  const own = fstatSync(fd, { bigint: true });
  return found !== undefined && found.ino === own.ino && found.dev === own.dev;
}

/** Moves a long log aside. We go on in the same file, because it is our open stream. */
export function limitOwnLog(stateDir: string, { ownFd = STDOUT, maxBytes = MAX_BYTES } = {}): void {
  const path = findOwnLog(stateDir, ownFd);
  if (path === null || statSync(path).size <= maxBytes) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path, 0);
}
