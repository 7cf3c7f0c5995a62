/**
 * Failures and finished work, out of the runs that have ended: from the newest back, until enough is found. What was not
 * looked at is said, never left out in silence.
 */
import type { DispatchResult } from '@caisson/protocol';
import type { ListedRun } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { asProblem } from '../api/problem.ts';
import { idOfRun } from './inbox-items.ts';

const FAILED = 'error,timeout,budget_exceeded,interrupted';
/** So many of each kind are listed. */
export const MAX_FOUND = 50;
/** So many runs of each kind are looked at, at most. */
export const MAX_LOOKED = 1000;
const PAGE = 50;

export interface FoundEnded {
  readonly failures: readonly ListedRun[];
  /** Finished runs with a patch that was not applied. */
  readonly work: readonly ListedRun[];
  /** There are more than are here. */
  readonly isCut: boolean;
  /** Older runs were not looked at. */
  readonly isUnseen: boolean;
}

export async function findEnded(
  client: Client,
  hidden: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<FoundEnded> {
  const find = (status: string, fits: (run: ListedRun) => Promise<boolean> | boolean) =>
    findRuns(
      client.pages('/v1/runs', { order: 'ended', newestFirst: true, status, limit: PAGE }, signal),
      fits,
    );
  const [failures, work] = await Promise.all([
    find(FAILED, (run) => !hidden.has(idOfRun('failure', run))),
    find('done', (run) => !hidden.has(idOfRun('work', run)) && isOpen(run) && hasPatch(client, run, signal)),
  ]);
  return {
    failures: failures.runs,
    work: work.runs,
    isCut: failures.rest === 'more' || work.rest === 'more',
    isUnseen: failures.rest === 'unseen' || work.rest === 'unseen',
  };
}

async function findRuns(
  pages: AsyncIterable<readonly ListedRun[]>,
  fits: (run: ListedRun) => Promise<boolean> | boolean,
): Promise<{ readonly runs: readonly ListedRun[]; readonly rest: 'none' | 'more' | 'unseen' }> {
  const runs: ListedRun[] = [];
  let looked = 0;
  for await (const page of pages) {
    if (looked >= MAX_LOOKED) return { runs, rest: 'unseen' };
    looked += page.length;
    const areFitting = await Promise.all(page.map(async (run) => await fits(run)));
    runs.push(...page.filter((_, index) => areFitting[index]));
    if (runs.length > MAX_FOUND) return { runs: runs.slice(0, MAX_FOUND), rest: 'more' };
  }
  return { runs, rest: 'none' };
}

function isOpen({ appliedAt, forgottenAt }: ListedRun): boolean {
  return appliedAt === undefined && forgottenAt === undefined;
}

/** Whether an ended run has a patch never changes. A page may stay open for days, so only so many are kept. */
const patched = new Map<string, boolean>();
const MAX_KNOWN = 4 * MAX_LOOKED;

async function hasPatch(client: Client, { runId }: ListedRun, signal: AbortSignal): Promise<boolean> {
  const known = patched.get(runId);
  if (known !== undefined) return known;
  try {
    const { result, leftWork } = await client.get<DispatchResult>(`/v1/runs/${runId}`, {}, signal);
    const isPatched = result?.patchRef !== undefined || leftWork === true;
    if (patched.size >= MAX_KNOWN) patched.clear();
    patched.set(runId, isPatched);
    return isPatched;
  } catch (error) {
    const { status } = asProblem(error);
    if (signal.aborted || status === 0) throw error;
    return status !== 404; // one that cannot be read is for a person to look at
  }
}
