// Commits of other processes are visible as writes to the -wal file. The watch makes waking quick; the poll makes it
// certain, because a watch can be missing (no inotify left, a network file system) or miss a file that was just made
// again.

import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';

const POLL_MS = 250;

/** Calls back when `readVersion` changes, that is, when another connection has committed. */
export function watchFile(file: string, readVersion: () => number, onChange: () => void): () => void {
  let version = readVersion();
  const check = () => {
    const current = readVersion();
    if (current === version) return;
    version = current;
    onChange();
  };
  const poll = setInterval(check, POLL_MS);
  poll.unref();
  const watcher = startWatcher(file, check);
  return () => {
    clearInterval(poll);
    watcher?.close();
  };
}

function startWatcher(file: string, check: () => void): FSWatcher | null {
  const walName = `${basename(file)}-wal`;
  try {
    const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
      if (name === null || name === walName) check();
    });
    // The poll continues without it.
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch (error) {
    process.emitWarning(
      `no file watch on ${file}, polling instead: ${error instanceof Error ? error.message : String(error)}`,
    );
    return null;
  }
}
