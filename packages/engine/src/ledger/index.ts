import type { Ledger } from './contract.ts';
import { createLedger } from './create-ledger.ts';
import type { LedgerOptions } from './create-ledger.ts';
import { createMemoryStorage } from './memory-storage.ts';
import { openSqliteStorage } from './sqlite/sqlite-storage.ts';
import { openWithThread } from './sqlite/open-with-thread.ts';

export type * from './contract.ts';
export { DEFAULT_POOL } from './contract.ts';
export type { LedgerOptions } from './create-ledger.ts';
export * from './errors.ts';
export { findEndingMark, isEndingSigned } from './ending-marks.ts';
export type { EndedRun, EndingSigner } from './ending-marks.ts';
export { isPausedBy, isThreadStream } from './project-threads.ts';
export { canonicalJson } from './canonical-json.ts';
export { findAccepted } from './find-accepted.ts';
export { findLedgerId, getLedgerId } from './ledger-id.ts';
export { createFeed, type EventFeed, type FeedQuery } from './feed.ts';
export { parseLiveEvent, type EventFilter, type LiveSource, type PlacedEvent } from './live-event.ts';
export { createRecorder, NO_ATTEMPT } from './recorder.ts';
export type { Emit, Recorder, RunRecord } from './recorder.ts';
export { hashEvent, toChainEvent, ZERO_HASH } from './event-record.ts';
export type { ChainEvent } from './event-record.ts';

/**
 * Opens the ledger at `file`, creating it (mode 0600) when there is none.
 * Throws LedgerForeignError, LedgerCorruptError, LedgerTooNewError, LedgerUnwritableError or LedgerFullError, and then
 * has changed nothing.
 */
export function openLedger(file: string, { threadEntry, ...options }: FileLedgerOptions = {}): Ledger {
  if (threadEntry === undefined) return createLedger(openSqliteStorage(file, undefined, options), options);
  return openWithThread(file, { ...options, threadEntry }).ledger;
}

export interface FileLedgerOptions extends LedgerOptions {
  /** The program of the thread that commits (`sqlite/commit-thread.ts`). Without one this thread does. */
  readonly threadEntry?: string;
  /** How many calls to `append` come before the thread is started. */
  readonly callsBeforeThread?: number | undefined;
  /** How long one write of leases or values holds the event loop at most while another process has the lock. Default 5 s. */
  readonly blocksMs?: number | undefined;
}

/** A ledger that keeps every promise except durability. */
export function createMemoryLedger(options: LedgerOptions = {}): Ledger {
  return createLedger(createMemoryStorage(), options);
}
export { nextChange } from './next-change.ts';
