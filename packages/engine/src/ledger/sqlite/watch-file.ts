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

/**
 * Calls back when another process has committed. SQLite says that someone has, not who, and events have their places: those
 * that our own connection did not put there are of others. A slot or a value has no place; the news of our own commit, which
 * everyone who waits for a slot gets, covers what came before it.
 */
export function watchFile({ file, readVersion, readCount, own }: Watched, onChange: () => void): () => void {
  let version = readVersion();
  /** The last event that was reported, by us or by our own connection. */
  let known = own === undefined ? 0 : readCount();
  const look = () => {
    version = readVersion();
    if (own !== undefined) known = readCount();
  };
  const check = () => {
    // It may be our own commit that is seen here; its answer comes in a moment, and then this is looked at.
    if (own !== undefined && own.underWay > 0) return;
    if (readVersion() === version) return;
    look();
    onChange();
  };
  const stopListening = own?.listen((added) => {
    if (added.length === 0) return check();
    let isNews = false;
    for (const { before, last } of added) {
      isNews ||= before > known;
      known = Math.max(known, last);
    }
    const told = known;
    if (own.underWay === 0) look();
    if (isNews || known > told) onChange();
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
