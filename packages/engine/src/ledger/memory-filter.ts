import { definedOnly, type ThreadRow } from '@caisson/protocol';
import type {
  ApprovalFilter,
  ApprovalRow,
  Page,
  QuestionFilter,
  QuestionRow,
  RunFilter,
  SpendFilter,
  SpendRow,
  ThreadFilter,
} from './contract.ts';
import type { RunState } from './ledger-view.ts';

/** The runs of a list in their order, from the cursor to the limit. */
export function filterRuns(runs: readonly RunState[], filter: RunFilter): RunState[] {
  const after = runs.find(({ runId }) => runId === filter.after);
  if (filter.after !== undefined && after === undefined) return [];
  const last = runs.find(({ runId }) => runId === filter.upTo);
  const direction = filter.newestFirst === true ? -1 : 1;
  const compare = (a: RunState, b: RunState): number => direction * compareIn(filter, a, b);
  return runs
    .filter((run) => isListed(run, filter))
    .filter((run) => after === undefined || compare(run, after) > 0)
    .filter((run) => last === undefined || compare(run, last) <= 0)
    .toSorted(compare)
    .slice(0, filter.limit);
}

/** What decides about the order of a list, and where it begins. */
export function orderOf({ order, since, until, after, newestFirst }: RunFilter): RunFilter {
  return definedOnly({ order, since, until, after, newestFirst });
}

/** The same of threads. */
export function filterThreads(threads: readonly ThreadRow[], filter: ThreadFilter): ThreadRow[] {
  const after = threads.find(({ threadId }) => threadId === filter.after);
  if (filter.after !== undefined && after === undefined) return [];
  const direction = filter.newestFirst === true ? -1 : 1;
  const compare = (a: ThreadRow, b: ThreadRow): number => direction * (a.acceptedOffset - b.acceptedOffset);
  return threads
    .filter((row) => isAsked(filter.workflow, row.workflow))
    .filter((row) => filter.status === undefined || [filter.status].flat().includes(row.status))
    .filter((row) => after === undefined || compare(row, after) > 0)
    .toSorted(compare)
    .slice(0, filter.limit);
}

export function filterQuestions(
  rows: ReadonlyMap<string, QuestionRow>,
  filter: QuestionFilter,
): QuestionRow[] {
  const placeOf = ({ askedOffset }: QuestionRow): number => askedOffset;
  const asked = [...rows.values()].filter(
    (row) => isAsked(filter.runId, row.runId) && isAsked(filter.status, row.status),
  );
  const last = rows.get(filter.after ?? '');
  return takePage(asked, filter, placeOf, last && placeOf(last));
}

export function filterApprovals(
  rows: ReadonlyMap<string, ApprovalRow>,
  filter: ApprovalFilter,
): ApprovalRow[] {
  const placeOf = ({ requestedOffset }: ApprovalRow): number => requestedOffset;
  const asked = [...rows.values()]
    .filter((row) => isAsked(filter.runId, row.runId) && isAsked(filter.status, row.status))
    .filter((row) => row.approvalId.endsWith(filter.idEnd ?? ''));
  const last = rows.get(filter.after ?? '');
  return takePage(asked, filter, placeOf, last && placeOf(last));
}

export function filterSpends(rows: ReadonlyMap<string, SpendRow>, filter: SpendFilter): SpendRow[] {
  const asked = [...rows.values()].filter(
    (row) => isAsked(filter.session, row.session) && isAsked(filter.day, row.day),
  );
  if (filter.newestFirst !== true) return takePage(asked, filter, ({ runId }) => runId, filter.after);
  return asked
    .filter(({ runId }) => filter.after === undefined || runId < filter.after)
    .toSorted((a, b) => (a.runId < b.runId ? 1 : -1))
    .slice(0, filter.limit);
}

/** As SQL does it: behind a row that is not there comes nothing. */
function takePage<Row, Key extends string | number>(
  rows: readonly Row[],
  { after, limit }: Page,
  placeOf: (row: Row) => Key,
  last: Key | undefined,
): Row[] {
  return rows
    .filter((row) => after === undefined || (last !== undefined && placeOf(row) > last))
    .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
    .slice(0, limit);
}

function isAsked<T>(asked: T | undefined, value: T): boolean {
  return asked === undefined || asked === value;
}

function isListed(run: RunState, filter: RunFilter): boolean {
  return (
    (filter.status === undefined || [filter.status].flat().includes(run.status)) &&
    isAsked(filter.session, run.session) &&
    isAsked(filter.agent, run.agent) &&
    isAsked(filter.runtime, run.runtime) &&
    isAsked(filter.continues, run.continues) &&
    isAsked(filter.idempotencyKey, run.idempotencyKey) &&
    isAsked(filter.unsealed, run.unsealed) &&
    isAsked(filter.waitingBranch, run.waitingBranch) &&
    (filter.ids?.includes(run.runId) ?? true) &&
    run.acceptedAt >= (filter.since ?? '') &&
    (filter.until === undefined || run.acceptedAt < filter.until) &&
    foldCase(run.description).includes(foldCase(filter.text ?? '')) &&
    (filter.order !== 'ended' || run.endedAt !== undefined)
  );
}

/** With times, in the order of times: a clock may be set back. */
function compareIn({ order, since, until }: RunFilter, a: RunState, b: RunState): number {
  const byOffset = a.acceptedOffset - b.acceptedOffset;
  if (order === 'ended') return compareText(a.endedAt ?? '', b.endedAt ?? '') || byOffset;
  return since === undefined && until === undefined
    ? byOffset
    : compareText(a.acceptedAt, b.acceptedAt) || byOffset;
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Only the letters of ASCII, as SQLite does. */
function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
