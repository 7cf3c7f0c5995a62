import type { Ledger } from '../contract.ts';
import { createLedger, type LedgerOptions } from '../create-ledger.ts';
import { OwnCommits } from './own-commits.ts';
import { openSqliteStorage, type SqliteOptions } from './sqlite-storage.ts';
import { ThreadCommits, type ThreadCommitsOptions } from './thread-commits.ts';
import { createMainTurns, createTurnMemory } from './write-turns.ts';

type Options = LedgerOptions & Pick<SqliteOptions, 'blocksMs'> & Omit<ThreadCommitsOptions, 'own' | 'turns'>;

/** A ledger with two connections to its file: one here, and one of the thread that commits. */
export function openWithThread(file: string, options: Options): { ledger: Ledger; commits: ThreadCommits } {
  const own = new OwnCommits();
  const turns = createTurnMemory();
  const { patienceMs, blocksMs, beforeMigration } = options;
  const inTurn = createMainTurns(turns);
  const waits = { patienceMs, blocksMs, inTurn };
  const storage = openSqliteStorage(file, undefined, { ...waits, beforeMigration, own });
  let commits: ThreadCommits | undefined;
  const ledger = createLedger(storage, options, (onCommit) => {
    commits = new ThreadCommits(storage, onCommit, { ...options, own, turns });
    return commits;
  });
  if (commits === undefined) throw new Error('a ledger was made without its commits');
  return { ledger, commits };
}
