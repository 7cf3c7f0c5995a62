/**
 * Failures and finished work, out of the runs that have ended: from the newest back, until enough is found. What was not
 * looked at is said, never left out in silence.
 */
import type { ListedRun } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { STATUS_GROUPS } from '../runs/run-status-names.ts';
import { idOfRun } from './inbox-items.ts';

const FAILED = STATUS_GROUPS.failed.join(',');
/** So many of each kind are listed. */
export const MAX_FOUND = 50;
/** So many runs of each kind are looked at, at most. */
export const MAX_LOOKED = 5000;
const PAGE = 200;

export interface FoundEnded {
  readonly failures: readonly ListedRun[];
  /** Finished runs whose work was not applied. */
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
  const find = (status: string, fits: (run: ListedRun) => boolean) =>
    findRuns(
      client.pages('/v1/runs', { order: 'ended', newestFirst: true, status, limit: PAGE }, signal),
      fits,
    );
  const [failures, work] = await Promise.all([
    find(FAILED, (run) => !hidden.has(idOfRun('failure', run))),
    find('done', (run) => !hidden.has(idOfRun('work', run)) && isOpen(run)),
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
  fits: (run: ListedRun) => boolean,
): Promise<{ readonly runs: readonly ListedRun[]; readonly rest: 'none' | 'more' | 'unseen' }> {
  const runs: ListedRun[] = [];
  let looked = 0;
  for await (const page of pages) {
    if (looked >= MAX_LOOKED) return { runs, rest: 'unseen' };
    looked += page.length;
    runs.push(...page.filter(fits));
    if (runs.length > MAX_FOUND) return { runs: runs.slice(0, MAX_FOUND), rest: 'more' };
  }
  return { runs, rest: 'none' };
}

function isOpen({ hasWork, appliedAt, forgottenAt }: ListedRun): boolean {
  return hasWork === true && appliedAt === undefined && forgottenAt === undefined;
}
