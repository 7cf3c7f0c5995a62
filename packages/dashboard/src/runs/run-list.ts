/** The loaded part of a list of runs, newest first. */
import type { ListedRun } from '../api/answers.ts';

type Runs = readonly ListedRun[];

/** A page that follows what is there. */
export function appendPage(runs: Runs, page: Runs): Runs {
  const known = new Set(runs.map(({ runId }) => runId));
  return [...runs, ...page.filter(({ runId }) => !known.has(runId))];
}

export interface MergedHead {
  readonly runs: Runs;
  /** The list begins anew. */
  readonly isAnew: boolean;
  /** How many are newer than what was the newest. */
  readonly onTop: number;
}

/**
 * The newest runs that fit, read again; all of them where `isAll`. They replace what is there as far back as they reach:
 * older runs may fit now, and others may fit no more. Where they do not reach what is there, the list begins anew: a hole
 * would not be seen.
 */
export function mergeHead(runs: Runs, head: Runs, isAll: boolean): MergedHead {
  const newest = runs[0];
  const last = head.at(-1);
  if (newest === undefined || last === undefined || last.acceptedOffset > newest.acceptedOffset)
    return { runs: head, isAnew: true, onTop: 0 };
  const behind = isAll ? [] : runs.filter(({ acceptedOffset }) => acceptedOffset < last.acceptedOffset);
  const onTop = head.filter(({ acceptedOffset }) => acceptedOffset > newest.acceptedOffset).length;
  return { runs: [...head, ...behind], isAnew: false, onTop };
}

/** Places runs that fit now among the others, in their order. What belongs behind the last one comes with its page. */
export function insertRuns(runs: Runs, coming: Runs, order: 'newest' | 'oldest', isWhole: boolean): Runs {
  const known = new Set(runs.map(({ runId }) => runId));
  const direction = order === 'newest' ? -1 : 1;
  const compare = (a: ListedRun, b: ListedRun) => direction * (a.acceptedOffset - b.acceptedOffset);
  const last = runs.at(-1);
  const added = coming.filter(
    (run) => !known.has(run.runId) && (isWhole || (last !== undefined && compare(run, last) < 0)),
  );
  return added.length === 0 ? runs : [...runs, ...added].toSorted(compare);
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
