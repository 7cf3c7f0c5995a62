// The whole check, for `caisson doctor`: it reports what it finds instead of stopping at it.

import { canonicalJson } from './canonical-json.ts';
import type { VerifyAllReport, VerifyReport } from './contract.ts';
import { Draft } from './draft.ts';
import { CaissonError } from '@caisson/protocol';
import { LedgerCorruptError } from './errors.ts';
import { toStoredEvent } from './event-record.ts';
import type { LedgerView } from './ledger-view.ts';
import { NEW_STREAM } from './ledger-view.ts';
import { project } from './project.ts';
import { walkAll, walkRun } from './read-chain.ts';
import type { Storage } from './storage.ts';

/** Checks one run from its first event to its end. */
export function verifyRun(storage: Storage, runId: string | null): VerifyReport {
  const stream = storage.stream(runId);
  let count = 0;
  const problems = problemsOf(() => {
    for (const record of walkRun(storage, runId, 0)) count = record.seq;
  });
  return { ok: problems.length === 0, runId, count, head: stream.head, isEnded: stream.isEnded, problems };
}

/** Checks the medium, every chain, the global order, and that the projections are what the events replay to. */
export function verifyAll(storage: Storage): VerifyAllReport {
  const problems = problemsOf(() => storage.damage().forEach((problem) => fail(storage, problem)));
  const streams = storage.streamIds();
  for (const runId of streams) problems.push(...verifyRun(storage, runId).problems);
  const replayed = new Draft(EMPTY_VIEW);
  let events = 0;
  const order = problemsOf(() => {
    for (const record of walkAll(storage, 0)) {
      events += 1;
      project(toStoredEvent(record), replayed);
    }
  });
  problems.push(...order);
  const rows = problemsOf(() => storage.misfiled().forEach((problem) => fail(storage, problem)));
  if (order.length === 0) rows.push(...problemsOf(() => compareProjections(storage, replayed)));
  return {
    ok: problems.length + rows.length === 0,
    events,
    runs: streams.filter((id) => id !== null).length,
    problems: [...new Set([...problems, ...rows])],
    isRebuildable: problems.length === 0 && rows.length > 0,
  };
}

function compareProjections(storage: Storage, replayed: Draft): void {
  const runIds = replayed.changedRuns().map((run) => run.runId);
  const tables: [string, unknown[], unknown[]][] = [
    ['runs', storage.runs({}), replayed.changedRuns()],
    ['attempts', runIds.flatMap((runId) => storage.attempts(runId)), replayed.changedAttempts()],
    ['questions', storage.questions({}), replayed.changedQuestions()],
    ['approvals', storage.approvals({}), replayed.changedApprovals()],
    ['spend', storage.spends({}), replayed.changedSpends()],
  ];
  for (const [name, stored, expected] of tables) {
    if (sortedText(stored) !== sortedText(expected)) {
      fail(storage, `the ${name} table is not what the events replay to`);
    }
  }
}

function sortedText(rows: readonly unknown[]): string {
  return rows
    .map((row) => canonicalJson(row))
    .sort()
    .join('\n');
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

const EMPTY_VIEW: LedgerView = {
  total: () => NEW_STREAM,
  stream: () => NEW_STREAM,
  eventById: () => null,
  run: () => null,
  runByIdempotencyKey: () => null,
  attempt: () => null,
  question: () => null,
  approval: () => null,
  openApprovals: () => [],
  spend: () => null,
};
