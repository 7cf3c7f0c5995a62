/** The loaded part of a list of runs, newest first. */
import type { ListedRun } from '../api/answers.ts';

type Runs = readonly ListedRun[];

/** A page that follows what is there. */
export function appendPage(runs: Runs, page: Runs): Runs {
  const known = new Set(runs.map(({ runId }) => runId));
  return [...runs, ...page.filter(({ runId }) => !known.has(runId))];
}

/** The first page, read again. Where it does not reach what is there, the list begins anew: a hole would not be seen. */
export function mergeHead(runs: Runs, head: Runs): { readonly runs: Runs; readonly isAnew: boolean } {
  const newest = runs[0];
  if (newest === undefined || !head.some(({ acceptedOffset }) => acceptedOffset <= newest.acceptedOffset))
    return { runs: head, isAnew: true };
  const coming = head.filter(({ acceptedOffset }) => acceptedOffset > newest.acceptedOffset);
  return { runs: updateRuns([...coming, ...runs], [], head), isAnew: false };
}

/** Runs that were read again. One that was asked for and is not found fits the filter no more. */
export function updateRuns(runs: Runs, asked: Iterable<string>, found: Runs): Runs {
  const byId = new Map(found.map((run) => [run.runId, run]));
  const gone = new Set([...asked].filter((id) => !byId.has(id)));
  return runs.flatMap((run) => (gone.has(run.runId) ? [] : [byId.get(run.runId) ?? run]));
}

export type RunsRow =
  | { readonly kind: 'run'; readonly run: ListedRun }
  | { readonly kind: 'session'; readonly session: string; readonly count: number };

/** The rows of the table; by session, the session with the newest run comes first. */
export function toRows(runs: Runs, isGrouped: boolean): RunsRow[] {
  if (!isGrouped) return runs.map((run) => ({ kind: 'run', run }));
  return [...Map.groupBy(runs, ({ session }) => session ?? '')].flatMap(([session, members]) => [
    { kind: 'session' as const, session, count: members.length },
    ...members.map((run) => ({ kind: 'run' as const, run })),
  ]);
}
