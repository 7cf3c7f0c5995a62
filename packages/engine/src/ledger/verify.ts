// The whole check, for `caisson doctor`: it reports what it finds instead of stopping at it.

import { CaissonError } from '@caisson/protocol';
import type { VerifyAllReport, VerifyProgress, VerifyReport } from './contract.ts';
import { LedgerCorruptError } from './errors.ts';
import { isThreadStream } from './project-threads.ts';
import { walkRun } from './read-chain.ts';
import { Replay } from './replay.ts';
import type { Storage } from './storage.ts';
import { walkAll } from './walk-all.ts';

/** Checks one run from its first event to its end. */
export function verifyRun(storage: Storage, runId: string | null): VerifyReport {
  const stream = storage.stream(runId);
  let count = 0;
  const problems = problemsOf(() => {
    for (const record of walkRun(storage, runId, 0)) count = record.seq;
  });
  return { ok: problems.length === 0, runId, count, head: stream.head, isEnded: stream.isEnded, problems };
}

/**
 * Checks the medium, every chain, the global order, and that the projections are what the events replay to: in one walk,
 * and where that finds damage, stream by stream, so that all of it is named.
 */
export function verifyAll(storage: Storage, onProgress?: VerifyProgress): VerifyAllReport {
  const total = countEvents(storage);
  onProgress?.('file', 0, total);
  const problems = problemsOf(() => storage.damage().forEach((problem) => fail(storage, problem)));
  const replay = new Replay(storage);
  let events = 0;
  const order = problemsOf(() => {
    for (const record of walkAll(storage, 0, (runId) => replay.endStream(runId))) {
      replay.add(record);
      events += 1;
      onProgress?.('events', events, total);
    }
  });
  const isWhole = order.length === 0 && replay.streams === storage.countStreams();
  const runs = isWhole ? replay.runs : verifyEach(storage, problems);
  problems.push(...order);
  onProgress?.('rows', 0, total);
  const rows = problemsOf(() => storage.misfiled().forEach((problem) => fail(storage, problem)));
  if (order.length === 0) rows.push(...replay.problems());
  return {
    ok: problems.length + rows.length === 0,
    events,
    runs,
    problems: [...new Set([...problems, ...rows])],
    isRebuildable: problems.length === 0 && rows.length > 0,
  };
}

/** Of a damaged file perhaps none. */
function countEvents(storage: Storage): number {
  let count = 0;
  problemsOf(() => (count = storage.total().count));
  return count;
}

/** Adds the problems of every stream; returns how many of them are runs. */
function verifyEach(storage: Storage, problems: string[]): number {
  let runs = 0;
  for (const runId of storage.streamIds()) {
    if (runId !== null && !isThreadStream(runId)) runs += 1;
    problems.push(...verifyRun(storage, runId).problems);
  }
  return runs;
}

function fail(storage: Storage, problem: string): never {
  throw new LedgerCorruptError(storage.file, problem);
}

function problemsOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof CaissonError)) throw error;
    return [error.message];
  }
}
