/** The file to which a daemon in the background prints. */
import { copyFileSync, fstatSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const NAME = 'daemon.log';
const MAX_BYTES = 4 * 1024 * 1024;
const STDOUT = 1;

export function daemonLogPath(stateDir: string): string {
  return join(stateDir, 'runtime', NAME);
}

/** The log, if this process prints to it. */
export function findOwnLog(stateDir: string, ownFd = STDOUT): string | null {
  const path = daemonLogPath(stateDir);
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  const own = fstatSync(ownFd, { bigint: true });
  return found !== undefined && found.ino === own.ino && found.dev === own.dev ? path : null;
}

/** Moves a long log aside. We go on in the same file, because it is our open stream. */
export function limitOwnLog(stateDir: string, { ownFd = STDOUT, maxBytes = MAX_BYTES } = {}): void {
  const path = findOwnLog(stateDir, ownFd);
  if (path === null || statSync(path).size <= maxBytes) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path, 0);
}
