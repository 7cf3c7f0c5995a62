// Commits of other processes are visible as writes to the -wal file. The watch makes waking quick; the poll makes it
// certain, because a watch can be missing (no inotify left, a network file system) or miss a file that was just made
// again.

import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { OwnCommits } from './own-commits.ts';

const POLL_MS = 250;

interface Watched {
  readonly file: string;
  /** Changes when another connection has committed. */
  readVersion(): number;
  /** How many events there are. */
  readCount(): number;
  /** Commits of another connection that is ours. */
  readonly own: OwnCommits | undefined;
}

/** Calls back when another process has committed. */
export function watchFile({ file, readVersion, readCount, own }: Watched, onChange: () => void): () => void {
  let version = readVersion();
  const check = () => {
    // It may be our own commit that is seen here; its answer comes in a moment, and then this is looked at.
    if (own !== undefined && own.underWay > 0) return;
    const current = readVersion();
    if (current === version) return;
    version = current;
    onChange();
  };
  // What else was committed before our own commit was answered is covered by the news of that.
  const stopListening = own?.listen((lastOffset) => {
    version = readVersion();
    if (readCount() > lastOffset) onChange();
  });
  const poll = setInterval(check, POLL_MS);
  poll.unref();
  const watcher = startWatcher(file, check);
  return () => {
    clearInterval(poll);
    stopListening?.();
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
