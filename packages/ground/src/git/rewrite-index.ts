/** Copies of an index with some changed records. */
import type { BigIntStats } from 'node:fs';

import {
  ASSUME_UNCHANGED,
  HASH_OFFSET,
  sealIndex,
  SKIP_WORKTREE,
  walkEntries,
  type IndexEntry,
} from './index-entries.ts';

const STAT_BEFORE_MODE = 24;
const STAT_AFTER_MODE = 28;

/**
 * The same index without its file times and sizes, so that git reads every file again. Needed where the recorded blob
 * is not the file's own bytes: line-ending conversion, filters, encodings.
 */
export function forgetIndexStats(index: Buffer, hashBytes: number): Buffer {
  const copy = Buffer.from(index);
  walkEntries(copy, hashBytes, (entry) => forgetStat(copy, entry));
  sealIndex(copy, hashBytes);
  return copy;
}

/**
 * The same index without the marks that make git skip files: "assume unchanged" everywhere, and "skip worktree" if
 * `isPresent` reports that the file exists. Null when there is nothing to change.
 */
export function revealEntries(
  index: Buffer,
  hashBytes: number,
  isPresent: (path: Buffer) => boolean,
): Buffer | null {
  const copy = Buffer.from(index);
  let isChanged = false;
  walkEntries(copy, hashBytes, (entry) => {
    const isSkipped = entry.isSkipWorktree;
    if (!isSkipped && !entry.isAssumedUnchanged) return;
    if (isSkipped && !isPresent(entry.path)) return;
    const flagsAt = entry.offset + HASH_OFFSET + hashBytes;
    copy.writeUInt16BE(copy.readUInt16BE(flagsAt) & ~ASSUME_UNCHANGED, flagsAt);
    if (isSkipped) copy.writeUInt16BE(copy.readUInt16BE(flagsAt + 2) & ~SKIP_WORKTREE, flagsAt + 2);
    forgetStat(copy, entry);
    isChanged = true;
  });
  if (!isChanged) return null;
  sealIndex(copy, hashBytes);
  return copy;
}

/** The new record of an entry: its blob, and the present stats of its file. */
export interface ReplacedEntry {
  readonly objectId: string;
  readonly stats: BigIntStats;
}

/** The same index with other blobs for some paths (bytes in Latin-1), and without git's cached trees. */
export function replaceEntries(
  index: Buffer,
  hashBytes: number,
  replaced: ReadonlyMap<string, ReplacedEntry>,
): Buffer {
  const copy = Buffer.from(index);
  const end = walkEntries(copy, hashBytes, (entry) => {
    const wanted = entry.stage === 0 ? replaced.get(entry.path.toString('latin1')) : undefined;
    if (wanted === undefined) return;
    copy.write(wanted.objectId, entry.offset + HASH_OFFSET, 'hex');
    writeStat(copy, entry.offset, wanted.stats);
  });
  const whole = Buffer.concat([copy.subarray(0, end), copy.subarray(copy.length - hashBytes)]);
  sealIndex(whole, hashBytes);
  return whole;
}

function writeStat(index: Buffer, at: number, stats: BigIntStats): void {
  const low = (value: bigint): number => Number(BigInt.asUintN(32, value));
  const second = 1_000_000_000n;
  index.writeUInt32BE(low(stats.ctimeNs / second), at);
  index.writeUInt32BE(low(stats.ctimeNs % second), at + 4);
  index.writeUInt32BE(low(stats.mtimeNs / second), at + 8);
  index.writeUInt32BE(low(stats.mtimeNs % second), at + 12);
  index.writeUInt32BE(low(stats.dev), at + 16);
  index.writeUInt32BE(low(stats.ino), at + 20);
  index.writeUInt32BE(low(stats.uid), at + 28);
  index.writeUInt32BE(low(stats.gid), at + 32);
  index.writeUInt32BE(low(stats.size), at + 36);
}

function forgetStat(index: Buffer, entry: IndexEntry): void {
  index.fill(0, entry.offset, entry.offset + STAT_BEFORE_MODE);
  index.fill(0, entry.offset + STAT_AFTER_MODE, entry.offset + HASH_OFFSET);
}
